"""Public domains: a small library of ranges and lists that everybody knows, such as ages, months and countries.

`init` proposes one by a column's name, by its label in a codebook, or by a type that DDL or a codebook declares;
never by a cell. A proposal is a guess about meaning, so a person looks at it. If it is wrong it costs accuracy (and
`check` says so), not privacy: nothing of it was taken from rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from understudy.schema.facts import Facts
from understudy.schema.scales import ORDERED_KINDS, UNREAD_KINDS


def _codes(text: str) -> tuple[str, ...]:
    return tuple(text.split())


YES = _codes("yes Yes YES y Y true True TRUE t T 1")
NO = _codes("no No NO n N false False FALSE f F 0")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
US_STATES = _codes(
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR "
    "PA RI SC SD TN TX UT VT VA WA WV WI WY AS GU MP PR VI"
)
COUNTRIES = _codes(  # ISO 3166-1 alpha-2
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA "
    "CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA "
    "GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP "
    "KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS "
    "MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS "
    "RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW "
    "TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
)
LANGUAGES = _codes(  # ISO 639-1
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka "
    "kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng "
    "nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su "
    "sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
CURRENCIES = _codes(  # ISO 4217, those in use
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP "
    "CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF "
    "IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD "
    "MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB "
    "RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD "
    "UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG"
)


@dataclass(frozen=True)
class PublicDomain:
    """A domain that everybody knows, and how a column tells that it is meant.

    `names` is matched with a whole column name, in lower case and with blanks between its words; `labels` is searched
    in a codebook's label; `types` are declared types that mean the domain.
    """

    name: str
    facts: Facts
    names: str
    labels: str | None = None
    types: tuple[str, ...] = ()

    def fits(self, stated: Facts) -> bool:
        """Return whether what documents state leaves room for this domain."""
        kind, mine = stated.kind, self.facts.kind
        if stated.values or stated.has_range or stated.true:
            return False
        numbers = {"integer", "number"}
        return kind is None or kind == mine or (kind in numbers and mine in numbers)


def _range(kind: str, low: str, high: str, decimals: int | None = None) -> Facts:
    return Facts(kind=kind, low=low, high=high, decimals=decimals)


def _list(values: tuple[str, ...]) -> Facts:
    return Facts(kind="category", values=values)


DOMAINS: tuple[PublicDomain, ...] = (
    PublicDomain(
        "ages",
        _range("integer", "0", "120"),
        r"(.* )?(age|alter|edad)( in)?( years?| yrs?)?|age( at)? \w+",
        r"\b(age|alter)\b(?! (less|group|under|over))",
    ),
    PublicDomain("sex", _list(("female", "male")), r"(.* )?(sex|gender|geschlecht|sexe)", r"^\W*(sex|gender)\W*$"),
    PublicDomain(
        "blood pressure (mmHg)",
        _range("integer", "0", "300"),
        r"sbp|dbp|systolic.*|diastolic.*",
        r"blood pressure",
    ),
    PublicDomain("heights (cm)", _range("number", "0", "250"), r"height (in )?cm", r"height.*(\bcm\b|centimet)"),
    PublicDomain(
        "weights (kg)",
        _range("number", "0", "400"),
        r"weight (in )?kgs?",
        r"weight.*(\bkg\b|kilogram)",
    ),
    PublicDomain(
        "concentrations (mg/dl)",
        _range("number", "0", "1000"),
        r"(.* )?(cholesterol|triglycerides?|glucose)( mg dl)?",
        r"\bmg ?/ ?(dl|100 ?ml)\b",
    ),
    PublicDomain(
        "years of education",
        _range("integer", "0", "30"),
        r"(.* )?(education|school|schooling) (yrs|years)|years (of )?(education|school|schooling)",
        r"\b(grade of (\w+ )?school|years of (education|school|schooling))\b",
    ),
    PublicDomain(
        "months", _range("integer", "1", "12"), r"(.* )?(month|monat|mois)", r"\bmonth of\b", ("gMonth", "MONTH")
    ),
    PublicDomain(
        "weekdays",
        _list(WEEKDAYS),
        r"(.* )?(week ?day|day of( the)? week|dow|wochentag)",
        r"day of the week",
        ("WKDAY",),
    ),
    PublicDomain(
        "days of a month",
        _range("integer", "1", "31"),
        r"day of( the)? month|(.* )?dom",
        r"\bday of (the month|birth|death)\b",
        ("gDay",),
    ),
    PublicDomain(
        "hours of a day",
        _range("integer", "0", "23"),
        r"(.* )?(hour|stunde)( of( the)? day)?",
        r"hour of (the )?day",
    ),
    PublicDomain("minutes of an hour", _range("integer", "0", "59"), r"minute( of( the)? hour)?"),
    PublicDomain(
        "years",
        _range("integer", "1900", "2100"),
        r"(.* )?(year|jahr)( of birth)?|yob|birth ?year",
        r"\b(year of (birth|death|\w+)|birth year)\b",
        ("year", "gYear", "ty"),
    ),
    PublicDomain(
        "dates",
        _range("date", "1900-01-01", "2100-01-01"),
        r"(.* )?(date|datum|dob|birthdate)|date( of)? .*",
        r"^date of\b",
    ),
    PublicDomain(
        "countries (ISO 3166)",
        _list(COUNTRIES),
        r"(.* )?(country|nation|land)( code| iso2?)?|nationality",
        r"ISO 3166",
        ("country",),
    ),
    PublicDomain(
        "languages (ISO 639)",
        _list(LANGUAGES),
        r"(.* )?(language|lang|sprache)( code)?",
        r"ISO 639",
        ("language",),
    ),
    PublicDomain(
        "currencies (ISO 4217)",
        _list(CURRENCIES),
        r"(.* )?(currency|ccy|währung)( code)?",
        r"ISO 4217",
        ("currency",),
    ),
    PublicDomain("US states", _list(US_STATES), r"(us |.* )?state( code| abbr(eviation)?)?", r"\b(US|U\.S\.) state\b"),
    PublicDomain(
        "percentages",
        _range("number", "0", "100"),
        r"(.* )?(pct|percent|percentage|prozent)( .*)?",
        r"\bper ?cent(age)?\b",
        ("PCT",),
    ),
    PublicDomain(
        "counts",
        _range("integer", "0", "1000"),
        r"(num|number|n|no|count|anzahl|total) .+|(.* )?(count|anzahl)",
        r"^\W*(total )?number of\b|\bhow (many|much)\b",
    ),
    PublicDomain(
        "years of something",
        _range("integer", "0", "120"),
        r"years (of )?.*|(.* )?(yrs|years)",
        r"^\W*years of\b",
    ),
    PublicDomain(
        "money",
        _range("number", "0", "1000000", 2),
        r"(.* )?(income|salary|wages?|price|amount|cost|revenue|fare|fee|lohn|gehalt|preis)( .*)?",
        r"\b(income|salary|wages?|price|cost)\b|US\$|\bdollars\b|€",
        ("money", "DOLLAR"),
    ),
    PublicDomain(
        "yes or no",
        Facts(kind="boolean", true=YES, false=NO),
        r"(is|has|had|was|does|did) .+|.* (flag|yn|ind|indicator)",
        None,
        ("boolean",),
    ),
)
_LOGARITHM = re.compile(r"\b(ln|log|log2|log10|logarithm)\b", re.IGNORECASE)  # of a thing: its range is another
_CHANGE = re.compile(r"\b(change|difference|increase|decrease)\b", re.IGNORECASE)
_OF_A_CHANGE = re.compile(r"^\W*(change|difference|increase|decrease) (in|of) (the )?", re.IGNORECASE)
_INDEX = re.compile(
    r"unnamed: \d+|__index_level_\d+__|rownames|row\.names|row_names|rowname|row_number|index|\.\.1|x\.1"
)
_ID = re.compile(r"(^|[_\s.-])(id|uuid|guid)$|[a-z]I[dD]$")
_ONE_EACH = re.compile(  # of whom or what a table has one row: nobody else shares such an id
    r"(id|uuid|guid|key|.*\b(subject|patient|person|participant|respondent|member|customer|client|user|student|employee|"
    r"record|row|case|sample|seq|unique|encounter|order|invoice|transaction|account|household|name) ?(id|uuid|guid))"
)
_ID_LABEL = re.compile(r"\b(unique|personal|patient|subject|record)\b.*\b(identifier|id|number)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Proposal:
    """What is proposed for a column, and why, in words."""

    facts: Facts
    domain: str
    reason: str


def propose(name: str, stated: Facts) -> Proposal | None:
    """Return a public domain for a column that documents leave open, or None.

    >>> propose("age", Facts()).facts.high
    '120'
    >>> propose("zeta", Facts()) is None
    True
    """
    if stated.kind in UNREAD_KINDS:
        return None
    attempts = (attempt(name, stated) for attempt in (unread_column, _typed, _named, _labelled))
    return next((found for found in attempts if found is not None), None)


def unread_column(name: str, stated: Facts) -> Proposal | None:
    """Return the proposal for a column that is not to be read: row numbers that a program wrote, or an identifier."""
    if stated.kind is not None:
        return None
    if _INDEX.fullmatch(name.strip().casefold()):
        return Proposal(Facts(kind="drop"), "index", "a program wrote its row numbers there")
    called = _ID.search(name) or name.casefold() in ("id", "key") or _ID_LABEL.search(stated.label or "")
    if stated.values or not called:
        return None
    return Proposal(Facts(kind="id"), "identifiers", "it is called so: never read, fresh on output")


def plain_name(name: str) -> str:
    """Return the words of a column's name: `birthYear`, `BIRTH_YEAR` and `birth.year` are `birth year`."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return " ".join(re.sub(r"[\W_]+", " ", spaced).casefold().split())


def one_each(name: str) -> bool:
    """Return whether a column with an identifier's name has one for each row: `test_id` may name one of two tests.

    >>> one_each("subject_id"), one_each("ID"), one_each("test_id")
    (True, True, False)
    """
    return _INDEX.fullmatch(name.strip().casefold()) is not None or _ONE_EACH.fullmatch(plain_name(name)) is not None


def _typed(name: str, stated: Facts) -> Proposal | None:
    typed = stated.declared_type
    return _first(stated, lambda domain: typed in domain.types, f"its declared type {typed}")


def _named(name: str, stated: Facts) -> Proposal | None:
    plain = plain_name(name)
    if _LOGARITHM.search(plain):
        return None
    return _first(stated, lambda domain: re.fullmatch(domain.names, plain) is not None, "by its name")


def _labelled(name: str, stated: Facts) -> Proposal | None:
    label = _OF_A_CHANGE.sub("", (stated.label or "")[:80])
    if not label or _LOGARITHM.search(label):
        return None

    def says(domain: PublicDomain) -> bool:
        return domain.labels is not None and re.search(domain.labels, label, re.IGNORECASE) is not None

    return _first(stated, says, "by its label")


def _first(stated: Facts, meant: Callable[[PublicDomain], bool], reason: str) -> Proposal | None:
    domain = next((domain for domain in DOMAINS if domain.fits(stated) and meant(domain)), None)
    if domain is None:
        return None
    facts = domain.facts
    if stated.kind in ORDERED_KINDS and stated.kind != facts.kind:
        facts = replace(facts, kind=stated.kind, decimals=None)
    if facts.low == "0" and _CHANGE.search(stated.label or ""):  # a change of it goes both ways
        return Proposal(replace(facts, low=f"-{facts.high}"), f"{domain.name}, changes of", reason)
    return Proposal(facts, domain.name, reason)

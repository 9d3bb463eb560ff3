"""A made-up hospital table with everything that makes real ones awkward, and the codebook that describes it.

    python examples/hospital/make_hospital.py FOLDER

writes hospital.csv (25 columns, one stay for each of 20,000 patients; `;`, cp1252, decimal comma, 31.12.2024, J/N,
codes for missing) and codebook.csv. Not private, not real: drawn with a fixed seed.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

STAYS = 20_000
CHAPTERS = (
    ("A", "Infektionskrankheiten", 10, 35), ("C", "Neubildungen", 15, 66), ("D", "Blut und Immunsystem", 3, 55),
    ("E", "Stoffwechsel und Ernährung", 7, 60), ("F", "Psychische Störungen", 8, 42), ("G", "Nervensystem", 6, 55),
    ("H", "Auge und Ohr", 3, 58), ("I", "Kreislaufsystem", 20, 70), ("J", "Atmungssystem", 11, 58),
    ("K", "Verdauungssystem", 13, 54), ("L", "Haut", 3, 48), ("M", "Muskel-Skelett-System", 14, 59),
    ("N", "Urogenitalsystem", 8, 56), ("O", "Schwangerschaft und Geburt", 9, 31), ("S", "Verletzungen", 13, 52),
)  # fmt: skip  # letter, name, weight, usual age
CODES = [f"{letter}{group}{digit}.{last}" for letter, *_ in CHAPTERS for group in range(5) for digit, last in
         ((0, 0), (0, 9), (4, 1), (8, 9))]  # fmt: skip  # 15 chapters × 5 groups × 4 codes = 300
LANDS = {
    "Süd": ["Baden-Württemberg", "Bayern"],
    "West": ["Hessen", "Nordrhein-Westfalen", "Rheinland-Pfalz", "Saarland"],
    "Nord": ["Bremen", "Hamburg", "Niedersachsen", "Schleswig-Holstein"],
    "Ost": ["Berlin", "Brandenburg", "Mecklenburg-Vorpommern", "Sachsen", "Sachsen-Anhalt", "Thüringen"],
}
WARDS = ["Innere Medizin", "Chirurgie", "Orthopädie", "Neurologie", "Gynäkologie", "Pädiatrie", "Psychiatrie", "HNO",
         "Urologie"]  # fmt: skip
WARD_OF = {
    "A": 0,
    "C": 0,
    "D": 0,
    "E": 0,
    "F": 6,
    "G": 3,
    "H": 7,
    "I": 0,
    "J": 0,
    "K": 1,
    "L": 1,
    "M": 2,
    "N": 8,
    "O": 4,
    "S": 1,
}
INSURERS = ["AOK", "Barmer", "Techniker", "DAK", "IKK", "Knappschaft", "Privat", "Selbstzahler"]
ENDS = ["Entlassung nach Hause", "Verlegung", "Rehabilitation", "Pflegeheim", "gegen ärztlichen Rat", "verstorben"]
REASONS = ["Notfall", "Einweisung durch Arzt", "Verlegung", "geplant"]


def stays(rows: int, generator: np.random.Generator) -> dict[str, Any]:
    """The columns as cells of text."""
    g = generator
    weights = np.repeat([w for _, _, w, _ in CHAPTERS], 20) * np.tile(1 / np.arange(1, 21) ** 0.7, len(CHAPTERS))
    code = g.choice(len(CODES), size=rows, p=weights / weights.sum())
    chapter = code // 20
    letter = np.asarray([c[0] for c in CHAPTERS])[chapter]
    age = np.clip(np.round(g.normal(np.asarray([c[3] for c in CHAPTERS])[chapter], 15)), 0, 104).astype(int)
    birth = letter == "O"
    age = np.where(birth, np.clip(age, 15, 48), age)
    sex = np.where(birth | (g.random(rows) < 0.51), "w", "m")
    sex = np.where(~birth & (g.random(rows) < 0.004), "d", sex)
    emergency = (
        g.random(rows)
        < np.asarray([0.5, 0.2, 0.3, 0.4, 0.5, 0.5, 0.1, 0.6, 0.6, 0.5, 0.2, 0.1, 0.4, 0.4, 0.9])[chapter]
    )
    surgery = (
        g.random(rows)
        < np.asarray([0.05, 0.6, 0.1, 0.1, 0.01, 0.2, 0.7, 0.3, 0.1, 0.6, 0.3, 0.8, 0.5, 0.3, 0.7])[chapter]
    )
    days = np.clip(g.geometric(1 / (2.5 + 2.5 * surgery + age / 25 + 12 * (letter == "F"))), 1, 120)
    intensive = np.where(g.random(rows) < 0.04 + 0.12 * (letter == "I") + 0.06 * surgery, g.geometric(0.35, rows), 0)
    intensive = np.minimum(intensive, days)
    died = g.random(rows) < np.clip((age - 55) / 900 + 0.02 * (intensive > 0), 0, 1)
    end = np.where(died, 5, g.choice(5, size=rows, p=[0.84, 0.05, 0.05, 0.04, 0.02]))
    end = np.where(~died & (age > 80) & (g.random(rows) < 0.25), 3, end)
    admitted = g.integers(0, 366, rows)
    insurer = g.choice(8, size=rows, p=[0.33, 0.13, 0.16, 0.09, 0.09, 0.04, 0.14, 0.02])
    height = np.clip(g.normal(np.where(sex == "w", 166, 179), 7), 120, 215)
    weight = np.clip(g.normal(24.5 + 3 * (letter == "E") + 0.03 * age, 4), 14, 55) * (height / 100) ** 2
    pressure = np.clip(np.round(g.normal(112 + age * 0.35 + 8 * (letter == "I"), 14)), 70, 230).astype(int)
    crp = np.clip(np.exp(g.normal(0.8 + 2.0 * np.isin(letter, ["A", "J"]) + 0.7 * surgery, 1.0)), 0.1, 400)
    extra = np.where((insurer >= 6) | (g.random(rows) < 0.07), np.exp(g.normal(5.6, 0.8, rows)), 0)
    cost = 700 + 420 * days + 1500 * intensive + 2900 * surgery + g.gamma(2, 250, rows)
    return {
        "Fallnummer": _numbers(g, rows, "F"),
        "Patient_ID": _numbers(g, rows, ""),
        "Aufnahmedatum": [_day(d) for d in admitted],
        "Entlassungsdatum": [_day(d) for d in admitted + days],
        "Alter": _with(age.astype(str), g.random(rows) < 0.004, "999"),
        "Geschlecht": _with(sex, g.random(rows) < 0.006, "9"),
        "Bundesland": _lands(g, rows),
        "Versicherung": _with(np.asarray(INSURERS)[insurer], g.random(rows) < 0.01, "k.A."),
        "Aufnahmegrund": np.asarray(REASONS)[np.where(emergency, 0, g.choice([1, 2, 3], size=rows, p=[0.5, 0.1, 0.4]))],
        "Fachabteilung": np.asarray(WARDS)[np.where(age < 16, 5, np.vectorize(WARD_OF.__getitem__)(letter))],
        "Hauptdiagnose": np.asarray(CODES)[code],
        "Nebendiagnosen": np.minimum(g.poisson(0.5 + age / 22), 20).astype(str),
        "Notfall": _flag(emergency),
        "Operation": _flag(surgery),
        "Intensivtage": intensive.astype(str),
        "Verweildauer": days.astype(str),
        "Größe_cm": _with(np.round(height).astype(int).astype(str), g.random(rows) < 0.05, ""),
        "Gewicht_kg": _with(_comma(weight, 1), g.random(rows) < 0.05, ""),
        "Blutdruck_sys": _with(pressure.astype(str), g.random(rows) < 0.03, "999"),
        "CRP_mg_l": _with(_comma(crp, 1), g.random(rows) < 0.12, "k.A."),
        "Raucher": _with(_flag(g.random(rows) < 0.22 + 0.25 * (letter == "J")), g.random(rows) < 0.09, "9"),
        "Entlassungsart": np.asarray(ENDS)[end],
        "Zuzahlung_EUR": _comma(np.clip(extra, 0, 5000), 2),
        "Fallkosten_EUR": _comma(np.clip(cost, 700, 150_000), 2),
        "Bemerkung": np.where(g.random(rows) < 0.02, "Rückruf nötig; Angehörige informiert", ""),
    }


def _numbers(g: np.random.Generator, rows: int, mark: str) -> list[str]:
    return [f"{mark}{n}" for n in 10_000_000 + g.permutation(40 * rows)[:rows]]


def _day(day: int) -> str:
    moment = np.datetime64("2024-01-01") + int(day)
    year, month, number = str(moment).split("-")
    return f"{number}.{month}.{year}"


def _with(cells: Any, where: Any, code: str) -> Any:
    return np.where(where, code, np.asarray(cells, dtype=object))


def _lands(g: np.random.Generator, rows: int) -> Any:
    names = [land for part in LANDS.values() for land in part]
    people = np.asarray([11, 13, 6, 18, 4, 1, 0.7, 1.9, 8, 2.9, 3.7, 2.5, 1.6, 4, 2.2, 2.1])
    return _with(g.choice(names, size=rows, p=people / people.sum()), g.random(rows) < 0.008, "k.A.")


def _flag(yes: Any) -> Any:
    return np.where(yes, "J", "N")


def _comma(numbers: Any, digits: int) -> Any:
    return np.asarray([f"{n:.{digits}f}".replace(".", ",") if n else "0" for n in numbers], dtype=object)


def codebook() -> list[list[str]]:
    """The rows of codebook.csv. The row count and the range of the height are left out: two points to confirm."""
    head = ["attribute", "kind", "values", "low", "high", "bins", "edges", "points", "missing", "format", "label",
            "value", "group", "group2"]  # fmt: skip

    def row(attribute: str, kind: str, label: str = "", **cells: str) -> list[str]:
        return [{"attribute": attribute, "kind": kind, "label": label, **cells}.get(column, "") for column in head]

    german = "TT.MM.JJJJ"
    rows = [
        ["[table]", "name", "hospital"],
        ["[table]", "delimiter", ";"],
        ["[table]", "encoding", "cp1252"],
        ["[table]", "decimal", ","],
        row("Fallnummer", "id", "Nummer des Aufenthalts"),
        row("Patient_ID", "id"),
        row("Aufnahmedatum", "date", low="01.01.2024", high="31.12.2024", bins="12", format=german),
        row("Entlassungsdatum", "date", low="01.01.2024", high="30.04.2025", bins="16", format=german),
        row("Alter", "integer", "Jahre bei Aufnahme", low="0", high="104", bins="21", missing="999"),
        row("Geschlecht", "category", "männlich, weiblich, divers", values="m|w|d", missing="9"),
        row("Versicherung", "category", values="|".join(INSURERS), missing="k.A."),
        row("Aufnahmegrund", "category", values="|".join(REASONS)),
        row("Fachabteilung", "category", values="|".join(WARDS)),
        row("Hauptdiagnose", "category", "ICD-artiger Code; Gruppen und Kapitel siehe unten"),
        row("Nebendiagnosen", "integer", "Anzahl", low="0", high="20"),
        row("Notfall", "boolean", values="J|N"),
        row("Operation", "boolean", values="J|N"),
        row("Intensivtage", "integer", edges="0|1|2|3|4|5|7|10|14|30"),
        row("Verweildauer", "integer", "Tage", edges="1|2|3|4|5|6|7|8|10|12|14|17|21|28|42|60|120"),
        row("Größe_cm", "integer", "bei Aufnahme gemessen", missing="(empty)"),
        row("Gewicht_kg", "number", low="20", high="200", bins="36", missing="(empty)"),
        row("Blutdruck_sys", "integer", "mmHg", low="70", high="230", bins="16", missing="999"),
        row("CRP_mg_l", "number", edges="0|1|2|3|5|8|12|20|35|60|100|200|400", missing="k.A."),
        row("Raucher", "boolean", values="J|N", missing="9"),
        row("Entlassungsart", "category", values="|".join(ENDS)),
        row("Zuzahlung_EUR", "number", "meist 0", edges="0|50|100|150|200|300|400|600|1000|2000|5000", points="0"),
        row("Fallkosten_EUR", "number",
            edges="700|1500|2000|2500|3000|4000|5000|6000|8000|10000|15000|25000|50000|150000"),
        row("Bemerkung", "drop", "Freitext"),
    ]  # fmt: skip
    rows += [row("Bundesland", "", value=land, group=part) for part, lands in LANDS.items() for land in lands]
    rows += [row("Bundesland", "", value="k.A.", missing="x")]
    for i, code in enumerate(CODES):
        letter, name, *_ = CHAPTERS[i // 20]
        group = code[1]
        rows.append(row("Hauptdiagnose", "", value=code, group=f"{letter}{group}0-{letter}{group}9", group2=name))
    return [head, *rows]


def write(folder: Path, rows: int = STAYS, seed: int = 20241231) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    columns = stays(rows, np.random.default_rng(seed))
    with (folder / "hospital.csv").open("w", encoding="cp1252", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
    with (folder / "codebook.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(codebook())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python make_hospital.py FOLDER")
    write(Path(sys.argv[1]))

"""The screen Schema: from a table's names and public documents to a schema without open points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from understudy.checking import PrivateData, check_cells, check_fit, check_people, check_rows
from understudy.drafting import Documents, Draft, draft_file, draft_statement
from understudy.errors import SchemaError, UsageError
from understudy.schema import Schema
from understudy.schema.open_points import reason
from understudy.studio.column_form import KINDS, ColumnForm, discovery_price, sent_keys
from understudy.studio.folder import DOCUMENTS, SCHEMAS, TABLES
from understudy.studio.pages import Form, Screen
from understudy.studio.schema_file import SchemaFile
from understudy.studio.source import TableSource
from understudy.studio.texts import TEXTS

_HEADERS = {"yes": True, "no": False}


class SchemaScreen(Screen):
    """Choose a table, draft, settle each point, check."""

    def choose(self, request: Request) -> Response:
        """Show the files to begin with."""
        folder = self._studio.folder
        return self._pages.page(
            request, "choose.html", "schema", tables=sorted(folder.names(TABLES), key=_unlikely),
            documents=folder.names(DOCUMENTS), schemas=folder.names(SCHEMAS), sql=folder.names((".sql",)),
            name=self._free_name(),
        )  # fmt: skip

    def _free_name(self) -> str:
        held = set(self._studio.folder.names(SCHEMAS))
        return next(n for n in ("schema.toml", *(f"schema-{i}.toml" for i in range(2, 1000))) if n not in held)

    def draft(self, request: Request, form: Form) -> Response:
        """Draft a schema from the header of a table, or from a CREATE TABLE statement, and public documents.

        No row is read, and no database is asked.
        """
        folder = self._studio.folder
        name = form.get("data", "")
        table = folder.file(name, TABLES) if name else None
        output = folder.new_file(form.get("output", ""), SCHEMAS)
        SchemaFile(output, "").write(self._drafted(table, form).text)
        if table is not None:
            self._studio.tables[output.name] = table.name
        return self._pages.onward("/schema/edit", schema=output.name)

    def _drafted(self, table: Path | None, form: Form) -> Draft:
        folder = self._studio.folder
        codebook = folder.file(form["codebook"], DOCUMENTS) if form.get("codebook") else None
        ddl = folder.file(form["ddl"], (".sql",)) if form.get("ddl") else None
        if table is not None:
            header = _HEADERS.get(form.get("header", ""))
            return draft_file(table, Documents(codebook, ddl), header, grouped=False)
        if ddl is None:
            raise UsageError(TEXTS["refused_draft"])
        return draft_statement(ddl, codebook, grouped=False)

    def edit(self, request: Request) -> Response:
        """Show the form of every column beside the text."""
        file = self._file(request.query_params.get("schema", ""))
        try:
            schema = file.schema
        except SchemaError as error:  # edited elsewhere: the text can still be repaired here
            return self._pages.page(
                request, "repair.html", "schema", schema_name=file.path.name, file=file, message=error.message
            )
        return self._pages.page(
            request, "schema.html", "schema", schema_name=file.path.name, **self._shown(file, schema),
            columns=[ColumnForm.of(schema, i) for i in range(len(schema.attributes))], kinds=KINDS,
            tables=self._studio.folder.names(TABLES), table=self._studio.tables.get(file.path.name, ""),
        )  # fmt: skip

    def _shown(self, file: SchemaFile, schema: Schema) -> dict[str, Any]:
        table = [(point, reason("[table]", point)) for point in schema.confirm]
        return {
            "file": file, "schema": schema, "table_points": table, "open": len(schema.unconfirmed),
            "price": discovery_price(schema), "rules": "\n".join(rule.text for rule in schema.rules),
        }  # fmt: skip

    def _file(self, name: str) -> SchemaFile:
        return SchemaFile.read(self._studio.folder.file(name, SCHEMAS))

    def _sent(self, form: Form) -> SchemaFile:
        file = self._file(form.get("schema", ""))
        file.check_version(form.get("version", ""))
        return file

    # -- edits -----------------------------------------------------------------------------------------------

    def save_column(self, request: Request, form: Form) -> Response:
        """Save the form of one column: what is saved counts as looked at."""
        file, schema, index = self._column(form)
        attribute = schema.attributes[index]
        return self._saved(file.edit(attribute.name, sent_keys(form, attribute)), index)

    def settle_column(self, request: Request, form: Form) -> Response:
        """Accept what is proposed for one column."""
        file, schema, index = self._column(form)
        attribute = schema.attributes[index]
        for point in attribute.confirm:
            file = file.settle(attribute.name, point)
        return self._saved(file, index)

    def _column(self, form: Form) -> tuple[SchemaFile, Schema, int]:
        file = self._sent(form)
        schema = file.schema
        index = form.get("index", "")
        if not index.isdecimal() or int(index) >= len(schema.attributes):
            raise UsageError("there is no such column: reload the page")
        return file, schema, int(index)

    def _saved(self, file: SchemaFile, index: int) -> Response:
        schema = file.schema
        return self._pages.part(
            "column_saved.html", schema_name=file.path.name, column=ColumnForm.of(schema, index), kinds=KINDS,
            **self._shown(file, schema),
        )  # fmt: skip

    def save_table(self, request: Request, form: Form) -> Response:
        """Save what a neighbour is, how many rows there are, and who pays."""
        file = self._sent(form)
        private = form.get("neighbours") == "add-remove"
        keys: dict[str, Any] = {"neighbours": "add-remove" if private else "replace-one"}
        keys["rows"] = None if private else _whole(form.get("rows", ""), "the number of rows")
        keys["rows_per_person"] = _whole(form.get("rows_per_person", "1"), "the rows of one person")
        keys["account"] = form.get("account", "").strip() or file.schema.account
        file.edit(None, keys)
        return self._again(file)

    def settle_table(self, request: Request, form: Form) -> Response:
        """Accept one point of the table."""
        file = self._sent(form)
        if form.get("point") == "rows":
            raise UsageError("write the number of rows, or make it private, and save the table")
        return self._again(file.settle(None, form.get("point", "")))

    def save_rules(self, request: Request, form: Form) -> Response:
        """Save the rules, one a line."""
        file = self._sent(form)
        file.with_rules([line.strip() for line in form.get("rules", "").splitlines() if line.strip()])
        return self._again(file)

    def save_text(self, request: Request, form: Form) -> Response:
        """Save the text as it was typed, if it is a schema."""
        file = self._sent(form)
        file.write(form.get("text", ""))
        return self._again(file)

    def _again(self, file: SchemaFile) -> Response:
        return self._pages.onward("/schema/edit", schema=file.path.name)

    # -- for the custodian's eyes ----------------------------------------------------------------------------

    def check(self, request: Request, form: Form) -> Response:
        """Say whether the rows fit. Exact, for the custodian: shown once, under the stamp, and written nowhere."""
        file = self._file(form.get("schema", ""))
        schema = file.schema
        source = TableSource.of(self._studio.folder, form.get("data", ""), form.get("address", ""))
        rows = PrivateData(source.place)
        problems = check_fit(rows, schema, progress=False)
        fits = [fit for fit in check_cells(rows, schema) if fit.offends or fit.missing]
        broken = check_rows(rows, schema) if schema.rules and not problems else []
        people = check_people(rows, schema) if schema.person and not problems else None
        if source.is_file:
            self._studio.tables[file.path.name] = source.shown
        return self._pages.part(
            "checked.html", problems=problems, fits=fits, broken=broken or [], people=people, source=source.shown
        )


def _unlikely(name: str) -> bool:
    """Return whether a file is called like something else than the private table: those are offered last."""
    return any(word in name.lower() for word in ("codebook", "dictionary", "synthetic"))


def _whole(text: str, what: str) -> int:
    plain = text.strip().replace(",", "").replace("_", "")
    if not plain.isdecimal() or int(plain) < 1:
        raise UsageError(f"{what} is a whole number of 1 or more")
    return int(plain)

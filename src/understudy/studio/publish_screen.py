"""The screen Publish: what will be spent, the word that starts it, the run, and what came out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from understudy.errors import UsageError
from understudy.methods.forecast import known_rows
from understudy.planning import plan
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.refusals import refuse_early
from understudy.publishing import refuse_large_epsilon
from understudy.release.signing import checked, sign, signature_file
from understudy.schema import Schema
from understudy.schema.open_points import check_confirmed
from understudy.studio.folder import SCHEMAS, TABLES
from understudy.studio.pages import Form, Screen
from understudy.studio.runs import Run, output_names
from understudy.studio.schema_file import SchemaFile
from understudy.studio.source import TableSource
from understudy.studio.spending import PlannedRun, account_in, ledger_of, refuse_change, run_name, spent_on
from understudy.studio.texts import TEXTS

_POLL = 0.25  # seconds between two looks at a run
_UNKNOWN_ROWS = 1_000_000  # planned with where the number is private: which method it is does not depend on it
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"


class PublishScreen(Screen):
    """Prepare, confirm, follow, take away."""

    def show(self, request: Request) -> Response:
        """Show the form, and the runs of this folder."""
        query, folder = request.query_params, self._studio.folder
        name = query.get("schema", "")
        schema = Schema.open(folder.file(name, SCHEMAS)) if name else None
        return self._pages.page(
            request, "publish.html", "publish", schema_name=name, schema=schema, schemas=folder.names(SCHEMAS),
            tables=folder.names(TABLES), table=self._studio.tables.get(name, ""), epsilon=query.get("epsilon", "1"),
            delta=query.get("delta", "0"), method=query.get("method", "auto"), output=self._free_output(schema),
            runs=[(run, run.state) for run in self._studio.runs.every()],
        )  # fmt: skip

    def _free_output(self, schema: Schema | None) -> str:
        if schema is None:
            return ""
        plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in schema.name)[:60] or "table"
        tries = (f"{plain}-synthetic{more}.csv" for more in ("", *(f"-{i}" for i in range(2, 1000))))
        return next(
            n for n in tries if not any((self._studio.folder.root / o).exists() for o in output_names(n).values())
        )

    # -- before anything is spent ----------------------------------------------------------------------------

    def prepare(self, request: Request, form: Form) -> Response:
        """Say what will be spent, and offer the word that starts it. Nothing is spent, and no row is counted."""
        spend, schema = self._asked(form)
        ledger = ledger_of(schema, self._studio.ledger)
        planned = plan(
            schema, epsilon=spend.budget.epsilon, delta=spend.budget.delta, method=spend.method,
            rows=None if schema.rows else known_rows(schema) or _UNKNOWN_ROWS,
        )  # fmt: skip
        words = planned.words() if known_rows(schema) else TEXTS["confirm_private_rows"]
        nonce = self._studio.confirmations.offer(request.scope["session"].cookie, spend)
        return self._pages.part(
            "confirm.html", spend=spend, schema=schema, plan=planned, words=words, nonce=nonce, ledger=ledger.name,
            before=None if (state := account_in(ledger, schema.account)) is None else state.as_json(),
            files=output_names(spend.output),
        )  # fmt: skip

    def _asked(self, form: Form) -> tuple[PlannedRun, Schema]:
        folder = self._studio.folder
        file = SchemaFile.read(folder.file(form.get("schema", ""), SCHEMAS))
        schema = file.schema
        check_confirmed(schema)
        budget = Budget(form.get("epsilon", "").strip(), form.get("delta", "").strip() or 0)
        refuse_large_epsilon(budget, False, "--accept-large-epsilon, on the command line")
        source = TableSource.of(folder, form.get("data", ""), form.get("address", ""))
        self._check_outputs(form.get("output", ""))
        if source.is_file:
            self._studio.tables[file.path.name] = source.shown
        ledger = ledger_of(schema, self._studio.ledger)
        if ledger.exists():
            with Ledger(ledger, create=False) as book:
                refuse_early(book, schema, budget)
        spent = spent_on(ledger, schema.account)
        return PlannedRun(
            file.path.name, file.text, schema.hash, source, source.fingerprint(), schema.account, budget,
            form.get("method", "auto"), form.get("output", ""), spent,
        ), schema  # fmt: skip

    def _check_outputs(self, output: str) -> None:
        """Refuse names that are taken, unless by a run that did not come to its end."""
        left = [run for run in self._studio.runs.every() if run.state in ("interrupted", "failed")]
        own = any(run.request.get("output") == output for run in left)
        for name in output_names(output).values():
            if not (own and (self._studio.folder.root / name).is_file()):
                self._studio.folder.new_file(name, (".csv", ".parquet") if name == output else ())

    # -- the spend -------------------------------------------------------------------------------------------

    def start(self, request: Request, form: Form) -> Response:
        """Start the run that a word stands for; the same word again leads to the same run."""
        nonce = form.get("nonce", "")
        name = run_name(nonce)
        spend = self._studio.confirmations.take(request.scope["session"].cookie, nonce, form.get("epsilon_again", ""))
        if spend is None:
            if self._studio.runs.find(name) is None:
                raise UsageError(
                    "this was started already, waited too long, or the studio was started anew: look again"
                )
            return self._pages.onward(f"/runs/{name}")
        schema = Schema.open(self._studio.folder.file(spend.schema_file, SCHEMAS))
        ledger = ledger_of(schema, self._studio.ledger)
        refuse_change(spend, spend.meant_now(schema, ledger))
        self._studio.runs.start(name, spend, ledger, self._studio.ledger is not None)
        return self._pages.onward(f"/runs/{name}")

    # -- the run ---------------------------------------------------------------------------------------------

    def run(self, request: Request) -> Response:
        """Show a run: its progress, or what came out."""
        run = self._studio.runs.get(request.path_params["run"])
        state = run.state
        return self._pages.page(
            request, "run.html", "publish", schema_name=run.request.get("schema", ""), run=run, state=state,
            request_note=run.request, progress=run.progress, result=run.result, outputs=run.outputs(),
            signature=self._signature(run) if state == "done" else "", can_sign=self._studio.key is not None,
        )  # fmt: skip

    async def events(self, request: Request) -> Response:
        """Stream the progress of a run until it ends; looking changes nothing."""
        run = await run_in_threadpool(self._studio.runs.find, request.path_params["run"])
        if run is None:
            return Response(status_code=404)
        return StreamingResponse(_events(run, request, self._studio.used), media_type="text/event-stream")

    def report(self, request: Request) -> Response:
        """Show the public report of a release, in a frame that may run nothing."""
        from understudy.report import public_report

        release = self._studio.release(request.query_params.get("file", ""))
        headers = {"content-security-policy": REPORT_POLICY, "x-frame-options": "SAMEORIGIN"}
        return Response(public_report(release), media_type="text/html", headers=headers)

    def download(self, request: Request) -> Response:
        """Hand out a file that a run wrote, and no other file of the folder."""
        run = self._studio.runs.get(request.path_params["run"])
        named = run.outputs()
        if "release" in named:
            named["signature"] = named["release"] + ".sig"
        wanted = named.get(request.path_params["what"])
        if wanted is None:
            raise UsageError("this run wrote no such file")
        path = self._studio.folder.file(wanted)
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")

    def sign(self, request: Request, form: Form) -> Response:
        """Sign a release with the key that the studio was started with."""
        run = self._studio.runs.get(request.path_params["run"])
        if self._studio.key is None:
            raise UsageError("the studio was started without a key: start it with --key FILE, or use understudy sign")
        path = self._studio.folder.file(run.outputs().get("release", ""))
        if signature_file(path).is_symlink():
            raise UsageError("a link stands where the signature goes: remove it")
        sign(self._studio.release(path.name), self._studio.key, signature_file(path))
        return self._pages.onward(f"/runs/{run.name}")

    def _signature(self, run: Run) -> str:
        """Return the fingerprint of the key that signed a run's release, "" where it is not signed."""
        named = run.outputs().get("release")
        if named is None or not signature_file(self._studio.folder.root / named).is_file():
            return ""
        path = self._studio.folder.file(named)
        return checked(self._studio.release(named), signature_file(path)).fingerprint


async def _events(run: Run, request: Request, used: Callable[[], None]) -> AsyncIterator[str]:
    last = None
    while not await request.is_disconnected():
        state, progress = await run_in_threadpool(lambda: (run.state, run.progress))
        if state != "running":
            yield "event: end\ndata: {}\n\n"
            return
        if progress != last:
            last = progress
            used()  # somebody watches: the server stays
            yield f"event: progress\ndata: {json.dumps(progress)}\n\n"
        await asyncio.sleep(_POLL)

"""Certificates of proved windows: SMT-LIB2 text that any solver can check again, without this program.

Owns the file's form, how a window is proved for it, and asking a solver. A certificate is about terms as the semantics give
them, so that no rewriting is trusted (see `plain`); about terms in normal form only where those could not be proved in time.

What a file claims: each of its queries has no model. What that means: the two values named in the comments are equal in every
lane of every entry state, given that operations of floats and memory are functions of their operands.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportAttributeAccessIssue=false
# z3 and cvc5 ship without types; every value taken from them here is an answer or a string.

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.diagnostics import printable
from asmevo.ir.instruction import Instruction
from asmevo.verify.equivalence.facts import NO_FACTS, Facts
from asmevo.verify.equivalence.window import prove_window
from asmevo.verify.verdict import Outcome

LOGIC = "QF_UFBV"
SOLVERS = ("z3", "cvc5")


@dataclass(frozen=True, slots=True)
class Certificate:
    """The queries of one window's proof. `form` tells what they are about: "plain" terms, or those in "normal" form.

    No queries: both sides are the same terms, of that form. `notes` are put at the head of the file.
    """

    name: str
    form: str
    queries: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The certificate as SMT-LIB2. Each check-sat must answer unsat."""
        lines = [
            f"; asmevo certificate: {printable(self.name)}",
            f"; {len(self.queries)} queries on {self.form} terms; every answer must be unsat",
        ]
        if not self.queries:
            lines.append("; both sides of the window are the same terms, so that nothing is left to ask")
        body = [f"(push 1)\n{_bare(query)}\n(pop 1)" for query in self.queries]
        lines += [f"; {printable(note)}" for note in self.notes]
        return "\n".join([*lines, f"(set-logic {LOGIC})", *body, ""])


def _bare(query: str) -> str:
    """A query without comments and without what z3 expects, which is nothing."""
    return "\n".join(line for line in query.splitlines() if line and not line.startswith((";", "(set-info :status")))


def certify(
    name: str,
    before: Sequence[Instruction],
    after: Sequence[Instruction],
    live_out: int,
    *,
    timeout_s: float = 10.0,
    vskip: bool = False,
    facts: Facts = NO_FACTS,
    target: str = "gfx942",
) -> Certificate | None:
    """Prove the window and return the certificate; None when it was not proved within `timeout_s`, twice."""
    for plain in (True, False):
        queries: list[str] = []
        verdict = prove_window(
            before, after, live_out,
            timeout_s=timeout_s, vskip=vskip, facts=facts, target=target, record=queries.append, plain=plain,
        )  # fmt: skip
        if verdict.outcome in (Outcome.PROVED, Outcome.IDENTICAL):
            assumed = dict.fromkeys(a for b in verdict.basis for a in b.assumptions)
            notes = tuple(f"assumes: {assumption}" for assumption in assumed)
            return Certificate(name, "plain" if plain else "normal", tuple(queries), notes)
    return None


def available() -> list[str]:
    """Return the solvers that can be asked here: z3, and cvc5 where it is installed."""
    return [name for name in SOLVERS if importlib.util.find_spec(name) is not None]


def ask(solver: str, text: str, timeout_s: float = 10.0) -> list[str]:
    """Return a solver's answers to the queries of SMT-LIB2 text: sat, unsat, unknown, or a message.

    `timeout_s` bounds each query.
    """
    said = _ask_z3(text, timeout_s) if solver == "z3" else _ask_cvc5(text, timeout_s)
    return [line for line in (line.strip() for line in said.splitlines()) if line]


def holds(answers: Sequence[str], text: str) -> bool:
    """Whether a solver's answers confirm a certificate: each of its queries was answered, by unsat."""
    return len(answers) == text.count("(check-sat)") and all(answer == "unsat" for answer in answers)


def _ask_z3(text: str, timeout_s: float) -> str:
    import z3

    context = z3.Context()
    config = f"(set-option :timeout {int(1000 * timeout_s)})\n"
    try:
        return str(z3.Z3_eval_smtlib2_string(context.ref(), config + text))
    except z3.Z3Exception as error:
        return _refused(error)


def _ask_cvc5(text: str, timeout_s: float) -> str:
    import cvc5

    solver = cvc5.Solver()
    solver.setOption("tlimit-per", str(int(1000 * timeout_s)))
    solver.setOption("incremental", "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "certificate")
    said = ""
    try:
        while not (command := parser.nextCommand()).isNull():
            said += command.invoke(solver, parser.getSymbolManager())
    except RuntimeError as error:  # what cvc5 raises for text that is no query
        return _refused(error)
    return said


def _refused(error: Exception) -> str:
    """One line that is no answer."""
    return f"error: {' '.join(str(error).split())}"

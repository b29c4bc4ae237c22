"""Options of commands that may ask a language model, and the proposer that they come to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from asmevo.config import Settings
    from asmevo.search.proposal import Proposer

ModelName = Annotated[
    str | None, typer.Option("--model", help="A language model that proposes too; its key comes from the environment.")
]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="Its server, if not OpenAI's: http://127.0.0.1:8000/v1")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", help="Most tokens sent and received.", min=1)]
MaxCost = Annotated[float | None, typer.Option("--max-cost", help="Most money; needs model.price_in and model.price_out.")]
Record = Annotated[Path | None, typer.Option("--record", help="New file that keeps every request and reply, never a key.")]
Replay = Annotated[Path | None, typer.Option("--replay", help="A recorded session to take the replies from: nobody is asked.")]


def model_flags(model: str | None, base_url: str | None, max_tokens: int | None, max_cost: float | None) -> dict[str, Any]:
    """The flags as settings."""
    return {"model.name": model, "model.base_url": base_url, "model.max_tokens": max_tokens, "model.max_cost": max_cost}


def with_model(
    settings: Settings,
    others: tuple[Proposer, ...],
    record: Path | None,
    replay: Path | None,
    open_now: ExitStack,
    keep: Callable[[bytes], object] | None,
) -> tuple[Proposer, ...]:
    """`others`, and the model that the settings name; messages of it go to standard error. Raises as `model_proposer`."""
    if settings.model.name is None and record is None and replay is None:
        return others
    from asmevo.search.llm.starting import Sources, model_proposer

    def log(text: str) -> None:
        print(f"model: {text}", file=sys.stderr)

    made = model_proposer(settings.model, settings.search.seed, Sources(record, replay), open_now, log, keep)
    return others if made is None else (*others, made)

"""Commands that change kernels: opt runs a pipeline, optimize is the main job."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asmevo.cli.common import (
    Exit,
    Format,
    check_output,
    guarded,
    load_kernel,
    load_source,
    read_source,
    show_verdict,
    verdict_exit,
)
from asmevo.cli.modelling import BaseUrl, MaxCost, MaxTokens, ModelName, Record, Replay, model_flags, with_model
from asmevo.cli.options import KernelName, OutputFormat, Trace
from asmevo.diagnostics import Span, fail, printable

if TYPE_CHECKING:
    from asmevo.frontend.codeobject import CodeObject
    from asmevo.ir.kernel import Kernel
    from asmevo.search.optimise import MakeExecutor
    from asmevo.search.records import Optimisation

OptionalInput = Annotated[Path | None, typer.Argument(help="Code object; by default `input` of the settings file.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Where the new object is written.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="Settings file (asmevo.toml).")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="key=value, over the settings file.")]
LaunchFile = Annotated[Path | None, typer.Option("--launch", help="Launch file (TOML).")]


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    for command in (opt, optimize):
        app.command()(command)


def opt(
    input: OptionalInput = None,
    passes: Annotated[
        str | None, typer.Option("--passes", help='Pipeline, as "waitcnt-relax,nop-trim"; O1, O2 and O3 are ready-made ones.')
    ] = None,
    output_file: Output = None,
    config: ConfigFile = None,
    sets: Sets = None,
    verify: Annotated[str | None, typer.Option("--verify", help="none, static, smt or emulate (needs a launch).")] = None,
    launch: LaunchFile = None,
    kernel: KernelName = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Keep every address, size and resource, or refuse.")] = False,
    print_after: Annotated[
        list[str] | None, typer.Option("--print-after", help="Print the assembly after each run of this pass.")
    ] = None,
    print_after_change: Annotated[
        bool, typer.Option("--print-after-change", help="Print the assembly after each change.")
    ] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Print what each pass counted.")] = False,
    timing: Annotated[bool, typer.Option("--timing", help="Print how long each pass took.")] = False,
    remarks: Annotated[bool, typer.Option("--remarks", help="Print what passes did and left alone.")] = False,
    stop_after: Annotated[int | None, typer.Option("--stop-after", help="Run only the first N passes.", min=0)] = None,
    bisect: Annotated[
        bool, typer.Option("--bisect", help="When the result is refused, find the first pass whose result is.")
    ] = False,
    reproducer: Annotated[
        Path | None,
        typer.Option("--reproducer", help="When a pass fails or the result is refused, write a .s file that repeats it."),
    ] = None,
    drop: Annotated[
        bool | None,
        typer.Option(
            "--drop/--no-drop",
            help="Leave out passes whose result is refused or, with a launch, slower by the model; default with a preset.",
        ),
    ] = None,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Run a pass pipeline over a code object or a .s source; the result is written only when it is verified.

    With -o a source is made into an object first; without, the result is printed.
    With a launch passes know how often code runs.

    Example: asmevo opt kernel.co --passes O2 --launch launch.toml -o new.co
    """

    def body() -> int:
        from asmevo.atomic import write_atomically
        from asmevo.backend.build import assemble_new
        from asmevo.backend.in_place import patch
        from asmevo.backend.writer import rebuild
        from asmevo.cli.pipelines import Reporter, blame, report_dropped, write_reproducer
        from asmevo.config import resolve
        from asmevo.frontend.codeobject import load
        from asmevo.frontend.recover import recover
        from asmevo.ir.printer import print_kernel
        from asmevo.passes.manager import PassManager
        from asmevo.passes.pipeline import names_preset, parse_pipeline
        from asmevo.passes.sparing import without_refused
        from asmevo.search.profile import profile_kernel
        from asmevo.search.slower import SlowerIn
        from asmevo.verify.judge import Judge, Level
        from asmevo.verify.launch.dispatches import load_launches
        from asmevo.verify.verdict import Basis, Outcome, Verdict

        resolved = resolve(config, sets or [], {"passes": passes, "verify.level": verify})
        settings = resolved.settings
        source = _input_path(input, settings.input, config)
        check_output(output_file, may_be_stdout=False)
        launch_path = launch or (_beside(config, settings.launch) if settings.launch else None)
        if settings.verify.level == "emulate" and launch_path is None:
            fail(
                "E0208", "verify level 'emulate' needs a launch", help="give --launch FILE; `asmevo launch infer` proposes one"
            )
        code_object: CodeObject | None = None
        if source.suffix != ".s":
            code_object, before = load_kernel(source, kernel, settings.target)
        elif in_place:
            fail("E0208", "an assembly source has no addresses to keep", help="leave out --in-place")
        elif output_file is not None:
            code_object = load(assemble_new(read_source(source), str(source), target=settings.target), str(source))
            before = recover(code_object, kernel)
        else:
            before = load_source(source)
        origin = resolved.locate("passes") if resolved.origins.get("passes") == str(config) else None
        if origin is not None:
            origin = Span(origin.file, origin.line, origin.column + 1, origin.length, source=origin.source)
        pipeline = parse_pipeline(settings.passes, origin)

        reporter = Reporter(print_after or (), print_after_change, stats, timing, remarks)
        reporter.check(pipeline)
        level_name = settings.verify.level
        dispatches = load_launches(launch_path, before) if launch_path else []
        profile = profile_kernel(before, dispatches) if dispatches else None
        manager = PassManager(
            pipeline,
            executions=profile.executions if profile else {},
            waves_per_simd=profile.waves_per_simd if profile else 1,
            after_each=reporter,
            stop_after=stop_after,
        )
        try:
            result = manager.run(before)
        except Exception:
            if reproducer is not None:
                done = len(reporter.runs)
                write_reproducer(
                    reproducer, reporter.runs[-1].kernel if done else before, pipeline[done : done + 1], level_name
                )
            raise

        def written(candidate: Kernel) -> bytes | None:
            is_wanted = output_file is not None or in_place
            return (patch if in_place else rebuild)(code_object, candidate) if code_object and is_wanted else None

        # Before the verdict: what cannot be written need not be judged.
        data = written(result.kernel)

        def judged(candidate: Kernel) -> Verdict:
            if candidate == before:
                return Verdict(Outcome.IDENTICAL, (Basis("bytes", Outcome.IDENTICAL, "no pass changed anything"),))
            if level_name == "none":
                return Verdict(Outcome.UNKNOWN, reason="not verified, as asked with verify level none")
            seeds = tuple(range(settings.verify.seeds))
            return Judge(Level(level_name), dispatches, settings.verify.timeout_s, seeds)(before, candidate)

        def accepts(verdict: Verdict) -> bool:
            return verdict.outcome.is_success or level_name == "none" or _static_only(level_name, verdict)

        is_dropping = drop if drop is not None else names_preset(settings.passes) and not (bisect or reproducer)
        if is_dropping and result.changed:
            slower = SlowerIn(before, dispatches)

            def refusal(candidate: Kernel) -> str | None:
                reason = slower.reason(candidate)
                if reason is None and not accepts(found := judged(candidate)):
                    return f"{found.outcome.value}: {found.reason}"
                return reason

            spared = without_refused(
                result, pipeline[:stop_after], lambda some: replace(manager, passes=some, after_each=None).run(before), refusal
            )
            report_dropped(spared.dropped, slower.left_out)
            result, pipeline = spared.result, spared.passes
            data = written(result.kernel) if spared.dropped else data
        verdict = judged(result.kernel) if result.changed else judged(before)
        accepted = accepts(verdict)
        if not accepted and (bisect or reproducer is not None):
            ran = pipeline[: len(result.runs)]
            step = blame(before, ran, result.runs, lambda k: accepts(judged(k))) if bisect else None
            if reproducer is not None:
                write_reproducer(reproducer, *(step or (before, ran)), level_name)
        if accepted and output_file is not None and data is not None:
            write_atomically(output_file, data)
        if output_file is None and output is Format.full and accepted:
            print(print_kernel(result.kernel))
        else:
            show_verdict(verdict, output)
        return Exit.DONE if accepted else verdict_exit(verdict)

    raise typer.Exit(guarded(body, show_traceback=traceback))


def optimize(
    input: OptionalInput = None,
    launch: LaunchFile = None,
    output_file: Output = None,
    config: ConfigFile = None,
    sets: Sets = None,
    budget_s: Annotated[float | None, typer.Option("--budget-s", "--budget", help="Wall time of the search, seconds.")] = None,
    attempts: Annotated[int | None, typer.Option("--attempts", help="Most proposals tried.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of every random choice.")] = None,
    lineage: Annotated[Path | None, typer.Option("--lineage", help="Folder that keeps every attempt and candidate.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the last run of the lineage like this one.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", help="Worker processes, by default one a core; never changes the result.", min=1),
    ] = None,
    ray: Annotated[str | None, typer.Option("--ray", help="Address of a Ray cluster to work on, or 'local'.")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="Command of an outside agent that proposes over JSON lines.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option("--rules", help="File of learned rewrites (JSON): read if there, and written at the end.")
    ] = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    record: Record = None,
    replay: Replay = None,
    kernel: KernelName = None,
    output: OutputFormat = Format.full,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    traceback: Trace = False,
) -> None:
    """Search for a verified and (by the cycle model) faster kernel. Exits with 1 when none was found.

    With --lineage nothing is lost when it is cut off: --resume goes on from the last attempt that ended.

    Example: asmevo optimize k0.co --launch launch.toml -o best.co --lineage runs
    """

    def body() -> int:
        from asmevo.atomic import write_atomically
        from asmevo.backend.writer import rebuild
        from asmevo.cli.progress import progress
        from asmevo.config import resolve
        from asmevo.search.evidence import evidence
        from asmevo.search.lineage import Lineage
        from asmevo.search.optimise import Budget, optimise
        from asmevo.search.profile import profile_kernel
        from asmevo.search.proposers.agent import AgentProposer
        from asmevo.search.proposers.registry import available_proposers
        from asmevo.search.recording import Asked, recorder_for
        from asmevo.search.rule_files import read_rules, write_rules
        from asmevo.verify.judge import Judge, Level
        from asmevo.verify.launch.dispatches import load_launches

        flags = {"search.budget_s": budget_s, "search.attempts": attempts, "search.seed": seed}
        flags |= model_flags(model, base_url, max_tokens, max_cost)
        settings = resolve(config, sets or [], flags).settings
        source = _input_path(input, settings.input, config)
        launch_path = launch or (_beside(config, settings.launch) if settings.launch else None)
        if launch_path is None:
            fail(
                "E0208",
                "optimize needs a launch",
                help="give --launch FILE, or `launch` in the settings file; `asmevo launch infer` proposes one",
            )
        if resume and lineage is None:
            fail("E0208", "--resume needs the lineage to go on with", help="give --lineage FOLDER")
        # Before the evidence is named after it: "." has no name.
        check_output(output_file, may_be_stdout=False)
        report_file = output_file.with_name(output_file.name + ".evidence.json") if output_file else None
        check_output(report_file)
        code_object, original = load_kernel(source, kernel, settings.target)
        dispatches = load_launches(launch_path, original)
        search = settings.search
        known_rules = read_rules(rules) if rules is not None and rules.exists() else ()
        others = (*available_proposers(), *([AgentProposer(agent)] if agent is not None else []))
        judge = Judge(Level.EMULATE, dispatches, settings.verify.timeout_s, tuple(range(settings.verify.seeds)))
        waves = settings.timing.waves_per_simd
        with contextlib.ExitStack() as open_now:
            recorder, before, profile = None, None, None
            store = open_now.enter_context(Lineage.opened(lineage, create=True)) if lineage is not None else None
            keep = store.artifacts.put if store is not None else None
            proposers = with_model(settings, others, record, replay, open_now, keep)
            if store is not None:
                judged = {"timeout_s": settings.verify.timeout_s, "seeds": settings.verify.seeds}
                names = tuple(proposer.name for proposer in proposers)
                asked = Asked(launch_path.read_bytes(), search.seed, search.windows, waves, judged, names)
                profile = profile_kernel(original, dispatches, waves)
                cycles = profile.estimate.total_cycles
                recorder, before = recorder_for(store, code_object, original, cycles, asked, resume=resume)
            told = open_now.enter_context(progress("optimize", search.attempts, quiet))

            def tick(attempt: int, before: float, best: float) -> None:
                gain = (before / best - 1) * 100 if best else 0
                told(attempt, search.attempts, f"best {gain:+.1f} % (modelled)")

            result = optimise(
                original,
                dispatches,
                judge,
                budget=Budget(
                    search.budget_s,
                    search.attempts,
                    _patience(search.budget_s),
                    settings.model.max_tokens,
                    settings.model.max_cost,
                ),
                seed=search.seed,
                windows=search.windows,
                waves_per_simd=waves,
                profile=profile,
                progress=tick,
                recorder=recorder,
                resume=before,
                proposers=proposers,
                executor=_executor(jobs, ray),
                code_object=code_object,
                rules=known_rules,
            )
        if rules is not None:
            write_rules(rules, known_rules, result)
        report = evidence(result, code_object, search.seed)
        if result.steps and output_file is not None and report_file is not None:
            write_atomically(output_file, rebuild(code_object, result.kernel))
            write_atomically(report_file, json.dumps(report, indent=2).encode())
            print(f"written: {printable(str(output_file))} and its evidence, {printable(report_file.name)}", file=sys.stderr)
        elif result.steps:
            print("not written: no -o was given", file=sys.stderr)
        if output is Format.json:
            print(json.dumps(report, indent=2))
        else:
            show_optimisation(result, output)
        return Exit.DONE if result.steps else Exit.NO

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _patience(budget_s: float) -> int:
    """Generations in vain after which the search ends: who gives it longer wants it to look longer."""
    return max(16, round(budget_s / 8))


def _executor(jobs: int | None, ray: str | None) -> MakeExecutor | None:
    """Where the search works: on Ray, in processes, or for one job in this process."""
    import os

    from asmevo.search.optimise import in_processes, on_ray

    workers = jobs or len(os.sched_getaffinity(0))
    if ray is not None:
        return on_ray(ray, workers)
    return in_processes(workers) if workers > 1 else None


def show_optimisation(result: Optimisation, output: Format) -> None:
    """Prints modelled cycles before and after, what was tried, and the verdict's basis."""
    from collections import Counter

    from asmevo.search.profile import full_occupancy_cycles

    profile = result.profile
    gain = (result.speedup - 1) * 100
    print(
        f"{printable(result.original.name)}: {result.before_cycles:,.0f} -> {result.after_cycles:,.0f} modelled cycles", end=""
    )
    print(f" ({gain:+.1f} %, modelled, {profile.waves_per_simd} wave(s) per SIMD as launched, no device)")
    if result.steps and profile.full_occupancy != profile.waves_per_simd:
        before = full_occupancy_cycles(result.original, profile)
        after = full_occupancy_cycles(result.kernel, profile, result.counts)
        full = f"{before:,.0f} -> {after:,.0f} modelled cycles ({(before / after - 1) * 100:+.1f} %)"
        print(f"  in a launch that fills the chip, {profile.full_occupancy} waves per SIMD: {full}")
    counts = Counter(attempt.status.value for attempt in result.attempts)
    tried = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    print(
        f"{len(result.attempts)} attempts in {result.seconds:.1f} s: {tried}" + (" (interrupted)" if result.interrupted else "")
    )
    for step in result.steps:
        print(f"  #{step.attempt.number} {step.attempt.proposer}: {step.attempt.description}: {step.attempt.cycles:,.0f}")
    if result.verdict is None:
        print("nothing verified and faster was found; nothing was written")
    else:
        show_verdict(result.verdict, output)


def _static_only(level: str, verdict: object) -> bool:
    """With `--verify static` the user asked for no more than the static proofs; they have passed when nothing was refuted."""
    from asmevo.verify.verdict import Outcome, Verdict

    return level == "static" and isinstance(verdict, Verdict) and verdict.outcome is Outcome.UNKNOWN


def _input_path(argument: Path | None, setting: str | None, config: Path | None) -> Path:
    if argument is not None:
        return argument
    if setting is None:
        fail("E0208", "no input was given", help="give a code object, or `input` in the settings file")
    return _beside(config, setting)


def _beside(config: Path | None, name: str) -> Path:
    return (config.parent if config else Path()) / name

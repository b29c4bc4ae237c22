"""Proofs kept on disk: found for windows that differ in register numbers only, and never where anything is wrong with them."""

import os
from pathlib import Path

import pytest

from asmevo.verify.equivalence import canonical
from asmevo.verify.equivalence.canonical import canonical_key
from asmevo.verify.equivalence.facts import NO_FACTS, Facts
from asmevo.verify.equivalence.proof_cache import METHOD, ProofCache
from asmevo.verify.verdict import Basis, Outcome, Verdict
from windows import judge, live, window

MIN = ("v_cmp_lt_i32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v2, v1, vcc", "v_min_i32_e32 v0, v1, v2")


WIDE = "v_lshl_add_u64 v[0:1], v[2:3], 2, v[4:5]"


def key(before: str, after: str, needed: str, facts: Facts = NO_FACTS, **options: object) -> str | None:
    rest = {"vskip": False, "target": "gfx942", **options}
    return canonical_key(window(before), window(after), live(needed), facts=facts, **rest)  # type: ignore[arg-type]


def renamed(text: str, **names: str) -> str:
    for old, new in names.items():
        text = text.replace(old, f"<{new}>")
    return text.replace("<", "").replace(">", "")


def test_register_numbers_do_not_matter() -> None:
    one = key(*MIN, "v0")
    other = [renamed(text, v0="v9", v1="v30", v2="v4") for text in MIN]
    assert one == key(*other, "v9")
    assert one != key(*other, "v9 vcc")
    assert one != key(MIN[1], MIN[0], "v0")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("v_add_u32_e32 v0, v1, v2", "v_add_u32_e32 v0, v1, v1"),
        ("v_add_u32_e32 v0, v1, v2", "v_add_u32_e32 v1, v1, v2"),
        ("v_add_u32_e32 v0, s1, v2", "v_add_u32_e32 v0, v1, v2"),
        ("v_add_u32_e32 v0, vcc_lo, v2", "v_add_u32_e32 v0, s1, v2"),
        ("v_add_f32_e64 v0, v1, -v2", "v_add_f32_e64 v0, v1, v2"),
        ("v_mov_b32_e32 v0, 1", "v_mov_b32_e32 v0, 2"),
        ("v_mov_b32_e32 v0, 1", "v_mov_b32_e32 v0, 1.0"),
        ("ds_read_b32 v0, v1 offset:4", "ds_read_b32 v0, v1 offset:8"),
        (f"{WIDE}\nv_mov_b32_e32 v8, v2", f"{WIDE}\nv_mov_b32_e32 v8, v3"),
        ("v_lshl_add_u64 v[0:1], v[2:3], 2, v[3:4]", "v_lshl_add_u64 v[0:1], v[2:3], 2, v[4:5]"),
    ],
)  # fmt: skip
def test_what_matters_is_in_the_key(one: str, other: str) -> None:
    assert key(one, "s_nop 0", "v0") != key(other, "s_nop 0", "v0")


def test_what_is_assumed_is_in_the_key() -> None:
    small = Facts({257: (0xFFFF0000, 0)}, assumptions=("ranges",))
    assert key(*MIN, "v0") != key(*MIN, "v0", small)
    assert key(*MIN, "v0", small) == key(*(renamed(t, v0="v9", v1="v30", v2="v4") for t in MIN), "v9",
                                         Facts({286: (0xFFFF0000, 0)}, assumptions=("ranges",)))  # fmt: skip
    assert key(*MIN, "v0") != key(*MIN, "v0", vskip=True)
    assert key(*MIN, "v0") != key(*MIN, "v0", target="gfx950")


def test_another_model_has_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    one = key(*MIN, "v0")
    monkeypatch.setattr(canonical, "model_version", lambda: "another")
    assert key(*MIN, "v0") != one


def test_a_proof_is_found_again_and_says_so(tmp_path: Path) -> None:
    cache = ProofCache(tmp_path / "proofs")
    first = judge(*(renamed(t, v0="v40", v1="v41", v2="v42") for t in MIN), "v40", cache=cache)
    assert first.basis[0].method == "z3"
    again = judge(*(renamed(t, v0="v50", v1="v52", v2="v51") for t in MIN), "v50", cache=ProofCache(tmp_path / "proofs"))
    assert again.outcome is Outcome.PROVED
    assert again.basis[0].method == METHOD
    assert "in an earlier run" in again.basis[0].detail
    assert again.basis[0].assumptions == first.basis[0].assumptions


def test_only_proofs_are_kept(tmp_path: Path) -> None:
    cache = ProofCache(tmp_path / "proofs")
    assert judge("v_mov_b32_e32 v60, v1", "v_mov_b32_e32 v60, v2", "v60", cache=cache).outcome is Outcome.REFUTED
    for outcome in Outcome:
        cache.put("ab" * 32, Verdict(outcome, (Basis("z3", outcome, "x"),)))
        assert (cache.get("ab" * 32) is not None) is (outcome is Outcome.PROVED)
        (tmp_path / "proofs" / "ab" / ("ab" * 32)).unlink(missing_ok=True)


def entry(cache: ProofCache, name: str) -> Path:
    cache.put(name, Verdict(Outcome.PROVED, (Basis("z3", Outcome.PROVED, "x"),)))
    assert cache.get(name) is not None
    return cache.folder / name[:2] / name


def test_a_changed_moved_or_foreign_entry_is_not_believed(tmp_path: Path) -> None:
    cache = ProofCache(tmp_path / "proofs")
    name, other = "ab" * 32, "ab" + "cd" * 31
    path = entry(cache, name)
    data = path.read_bytes()
    for wrong in (data[:-3], data.replace(b'"x"', b'"y"'), b"", b"0" * 64 + data[64:], b"\xff" * 100):
        path.write_bytes(wrong)
        assert cache.get(name) is None
    (path.parent / other).write_bytes(data)
    assert cache.get(other) is None
    path.write_bytes(data)
    assert cache.get(name) is not None
    (cache.folder / "secret").unlink()
    assert ProofCache(cache.folder).get(name) is None


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    cache = ProofCache(tmp_path / "proofs")
    path = entry(cache, "ab" * 32)
    os.chmod(cache.folder, 0o777)
    open_to_all = ProofCache(cache.folder)
    assert not open_to_all.is_usable
    assert open_to_all.get(path.name) is None
    os.chmod(cache.folder, 0o700)
    (tmp_path / "link").symlink_to(cache.folder)
    assert not ProofCache(tmp_path / "link").is_usable


def test_a_cache_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ProofCache(tmp_path / "file" / "proofs")
    assert not cache.is_usable
    assert judge(*(renamed(t, v0="v70", v1="v71", v2="v72") for t in MIN), "v70", cache=cache).outcome is Outcome.PROVED


def test_the_number_of_entries_is_bounded(tmp_path: Path) -> None:
    cache = ProofCache(tmp_path / "proofs")
    for k in range(80):
        cache.put(f"ab{k:062x}", Verdict(Outcome.PROVED, (Basis("z3", Outcome.PROVED, "x"),)))
    assert len(list((cache.folder / "ab").iterdir())) == 64

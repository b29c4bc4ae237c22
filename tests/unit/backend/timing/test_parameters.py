"""Every figure of a chip names its source."""

from dataclasses import fields

from asmevo.backend.timing import MI300X, Figure


def test_every_figure_has_a_source():
    figures = [getattr(MI300X, field.name) for field in fields(MI300X) if field.name not in ("name", "target")]
    assert all(isinstance(figure, Figure) and figure.value > 0 and figure.source for figure in figures)

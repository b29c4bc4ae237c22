from asmevo.backend.timing.stalls import by_cause


def test_causes_are_summed_and_the_largest_comes_first():
    assert list(by_cause({1: {"lds": 2.0, "valu": 3.0}, 2: {"lds": 4.0, "alu": 3.0}}).items()) == [
        ("lds", 6.0),
        ("alu", 3.0),
        ("valu", 3.0),
    ]
    assert by_cause({}) == {}

from asmevo.report.story.pictures import curve, lanes, tree
from stories import told


def test_a_chain_stays_in_its_lane_and_a_second_child_begins_one():
    assert lanes([(1, None), (2, 1), (3, 2), (4, 1), (5, 4)]) == [
        (0, None, 0),
        (0, 0, 0),
        (0, 1, 0),
        (1, 0, 0),
        (1, 3, 1),
    ]


def test_every_candidate_is_in_the_curve_and_in_the_tree():
    story = told(6)
    for picture in (curve(story), tree(story)):
        assert all(f'href="#n{node}"' in picture for node in range(1, 7))
    assert tree(story).count("best") == 1


def test_a_run_without_candidates_has_pictures_too():
    story = told(0)
    assert "K0" in tree(story)
    assert "<svg" in curve(story)

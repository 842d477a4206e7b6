"""What all pictures share."""

import pytest
from matplotlib.colors import to_rgb

from moet.errors import InputError
from moet.explain.style import broken, class_looks, expert_looks, new_figure, save_figure


@pytest.mark.parametrize("looks", [class_looks, expert_looks])
def test_looks_differ(looks):
    assert len(set(looks(64))) == 64


def test_the_first_classes_differ_in_grey_and_experts_bear_text():
    def grey(look):
        red, green, blue = to_rgb(look.colour)
        return 0.299 * red + 0.587 * green + 0.114 * blue

    light, middle, dark = map(grey, class_looks(3))
    assert light - middle > 0.15
    assert middle - dark > 0.15
    assert min(map(grey, expert_looks(8))) > 0.6
    assert not set(expert_looks(4)) & set(class_looks(4))


@pytest.mark.parametrize("suffix", [".png", ".svg", ".SVG"])
def test_the_same_picture_is_the_same_file(tmp_path, suffix):
    for name in "ab":
        figure = new_figure(2, 2)
        figure.subplots().plot([1, 2])
        save_figure(figure, tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_other_formats_are_refused(tmp_path):
    for name in ("a.pdf", "a"):
        with pytest.raises(InputError, match=r"\.png or \.svg"):
            save_figure(new_figure(2, 2), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_text("old")
    figure = new_figure(2, 2)

    def fail(target, **_):
        target.write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        save_figure(figure, path)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.png", "old")]


def test_long_names_are_broken_where_they_may_be():
    assert broken("angular_velocity_2 [rad/s]") == "angular_\nvelocity_2\n[rad/s]"
    assert broken("angle [rad]") == "angle [rad]"

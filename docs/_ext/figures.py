"""Pictures of the gallery: matplotlib figures that a block has made, with or without pyplot."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures among the names of an example that no block before has shown."""
    names = block_vars["example_globals"]
    shown = names.setdefault("__shown__", set())
    new = [value for value in names.values() if isinstance(value, Figure) and id(value) not in shown]
    paths = [next(block_vars["image_path_iterator"]) for _ in new]
    for figure, path in zip(new, paths, strict=True):
        figure.savefig(path, dpi=120)
        shown.add(id(figure))
    return figure_rst(paths, gallery_conf["src_dir"])

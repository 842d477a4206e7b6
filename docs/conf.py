"""How the site is built: ``make docs``; warnings are errors, and nothing is fetched."""

from __future__ import annotations

import sys
from pathlib import Path

import moet
import moet.jit

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
from figures import figures  # noqa: E402
from written_pages import write_pages  # noqa: E402

write_pages(HERE / "generated")
moet.jit._compiling.announced = True  # what examples print is not the same in a fresh environment otherwise

project = "MoET"
author = "The MoET developers"
copyright = "The MoET developers"
release = version = moet.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4  # links to headings work as on a forge

autosummary_generate = True
autodoc_typehints = "none"  # signatures stay short; the types stand in the docstrings
numpydoc_show_class_members = False  # the template of classes lists them

sphinx_gallery_conf = {
    "image_scrapers": (figures,),
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # every example is executed
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "show_memory": False,
}

suppress_warnings = ["config.cache"]  # the scraper is a function, which Sphinx cannot keep between builds

html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}
html_title = "MoET"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "start": []}
toc_object_entries_show_parents = "hide"
html_show_sourcelink = False

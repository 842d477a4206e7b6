"""Scripts of the pages are modules, bundled into one script that loads nothing."""

import re
import shutil

import pytest

from moet.errors import InputError
from moet.web.modules import bundled, parsed
from moet.web.page import script_of, scripts_of
from tests.processes import run

PAGES = ["moet.explain.explorer_page", "moet.study.report"]
SCRIPTS = {path: text for package in [*PAGES, "moet.web"] for path, text in scripts_of(package).items()}
NEEDS_NODE = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")

ADD = "export function add(a, b) {\n  return a + b + hidden;\n}\nconst hidden = 0;\n"


@pytest.mark.processes
@NEEDS_NODE
def test_a_module_keeps_what_it_does_not_export(tmp_path):
    main = 'import { add } from "../web/add.js";\nconst hidden = 40;\nconsole.log(add(hidden, 2), typeof module0);\n'
    script = tmp_path / "bundle.js"
    script.write_text(bundled({"web/add.js": ADD, "page/app.js": main}, "page/app.js"))
    assert run(["node", script], check=True).stdout.split() == ["42", "object"]


@pytest.mark.parametrize(
    ("main", "problem"),
    [
        ('import { subtract } from "./add.js";\n', "subtract, which add.js does not export"),
        ('import { add } from "./adds.js";\n', "adds.js, which does not exist"),
        ('import * as all from "./add.js";\n', "no import or export that can be bundled"),
        ("export default 1;\n", "no import or export that can be bundled"),
    ],
)
def test_what_cannot_be_bundled_is_an_error(main, problem):
    with pytest.raises(InputError, match=re.escape(problem)):
        bundled({"add.js": ADD, "app.js": main}, "app.js")


def test_modules_that_import_each_other_are_refused():
    sources = {
        "a.js": 'import { b } from "./b.js";\nexport const a = 1;\n',
        "b.js": 'import { a } from "./a.js";\nexport const b = 1;\n',
    }
    with pytest.raises(InputError, match=re.escape("a.js → b.js → a.js")):
        bundled(sources, "a.js")


@pytest.mark.parametrize("package", PAGES)
def test_every_script_of_a_page_is_used(package):
    script = script_of(package)
    assert all(f"// {path}\n" in script for path in scripts_of(package))


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_script_imports_what_it_uses_and_uses_what_it_imports(path):
    module = parsed(SCRIPTS[path], path)
    code = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"', "", module.text, flags=re.S)
    imported = {name for names in module.imports.values() for name in names}
    assert all(re.search(rf"\b{name}\b", code) for name in imported)
    public = {name for other in SCRIPTS if other != path for name in parsed(SCRIPTS[other], other).exports}
    called = set(re.findall(r"(?<![\w.])(?:new )?(\w+)\(", code))
    declared = set(re.findall(r"(?:function|class|const|let) (\w+)|^  (?:get |static )?(\w+)\(", code, re.M))
    own = {name for pair in declared for name in pair}
    assert called & public <= imported | own


@pytest.mark.processes
@NEEDS_NODE
@pytest.mark.parametrize("path", SCRIPTS)
def test_the_syntax_is_that_of_modules(path, tmp_path):
    script = tmp_path / "script.mjs"
    script.write_text(SCRIPTS[path], encoding="utf-8")
    assert run(["node", "--check", script]).stderr == ""

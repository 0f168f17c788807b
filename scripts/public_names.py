"""Public names of the C++ headers: types, functions and constants at the level of the namespace."""
import re

TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|enum class) (\w+)(?: final)?(?: : [^;]*)?(?: \{.*)?$")
ALIAS = re.compile(r"using (\w+) =")
FUNCTION = re.compile(r"(?!return|using|namespace|struct|class|enum|static_assert|template|inline constexpr|constexpr \w+ k|#)"
                      r"(?:\[\[\w+\]\] )?[A-Za-z_][\w:<>,&\*\s]*[\s&\*](\w+)\(")  # fmt: skip
CONSTANT = re.compile(r"inline constexpr .*?\b(k[A-Z]\w+)")


def public_names(header):
    """Names in the order of the header, each once. Members, operators and what a macro makes are left out."""
    names = []
    for line in re.sub(r"//.*", "", header.read_text()).split("\n"):
        found = next(filter(None, (kind.match(line) for kind in (TYPE, ALIAS, FUNCTION, CONSTANT))), None)
        if found and found[1] not in names and not found[1].startswith("operator"):
            names.append(found[1])
    return names


def names_table(folder):
    lines = ["| header | names |", "|---|---|"]
    for header in sorted(folder.glob("*.h")):
        if names := public_names(header):
            lines.append(f"| `{header.name}` | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join(lines)

"""Small word lists, and what is wrong with variations of them."""

from pathlib import Path

from biasgrid.families.underspecified.read import WordListFiles, WordLists
from biasgrid.families.underspecified.read import read as read_word_lists

LISTS = {
    "templates": "[subj1] sat by [subj2].\tWho [p_act]?\tWho [p_act:neg]?\n",
    "subjects": "[subj] female | Ann\n[subj] male | Bob\n",
    "attributes": "[p_act] food | cooks\n[p_act:neg] food | never cooks\n",
}
MASKED = "[subj1] sat by [subj2].\t[mask] [p_act].\t[mask] [p_act:neg].\n"
BOTH_FORMS = "[subj] Chad\n[subj] Mali\n[subj:dem] Chadian\n[subj:dem] Malian\n"


def read(
    folder: Path, mask: str | None = None, antonyms: bool = False, **contents: str | bytes
) -> tuple[WordLists, list[str]]:
    """Reads word lists with the given contents; returns them and the faults, files by their bare
    names.
    """
    for name, content in (LISTS | contents).items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / f"{name}.txt").write_bytes(data)
    filler = folder / "filler.txt" if "filler" in contents else None
    subjects = tuple(
        folder / f"{name}.txt" for name in ("subjects", "others") if name in LISTS | contents
    )
    files = WordListFiles(
        folder / "templates.txt",
        subjects,
        folder / "attributes.txt",
        filler,
        mask,
        {},
        antonyms=antonyms,
    )
    lists, faults = read_word_lists(files)
    return lists, [str(fault).replace(f"{folder}/", "") for fault in faults]

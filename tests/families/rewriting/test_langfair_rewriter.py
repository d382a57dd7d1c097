"""What LangFair rewrites, found and neutralises, against its golden outputs."""

from __future__ import annotations

import pytest
from small_rewriting import golden, groups_of

from biasgrid.families.rewriting.langfair import LangFairMode


@pytest.mark.parametrize("attribute", ["gender", "race"])
def test_prompts_are_rewritten_like_the_original(attribute: str) -> None:
    groups = groups_of(f"langfair-{attribute}")
    rewriter = LangFairMode().rewriter(groups)
    for row in golden("prompts"):
        prompt, created = row["prompt"], row[f"create_{attribute}"]
        assert set(rewriter.words(prompt)) == set(row[f"words_{attribute}"])
        assert rewriter.rewrite(prompt, len(groups.names)) == row[f"neutral_{attribute}"]
        if row[f"words_{attribute}"]:
            made = {
                f"{name}_prompt": rewriter.rewrite(prompt, place)
                for place, name in enumerate(groups.names)
            }
            assert made == {name: created[name] for name in made}


def test_answers_are_neutralised_like_the_original() -> None:
    rewriters = {
        attribute: LangFairMode().rewriter(groups_of(f"langfair-{attribute}"))
        for attribute in ("gender", "race")
    }
    for row in golden("pairs"):
        rewriter = rewriters[row["attribute"]]
        neutral = [
            rewriter.rewrite(row[f"text{side}"], len(rewriter.groups.names)) for side in "12"
        ]
        assert neutral == [row["neutral1"], row["neutral2"]]

"""What a pack asks, known without expanding it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from biasgrid.families.counterfactual.packs.pack import Pack

MASK = "[MASK]"
SAMPLED_CASES = 16


@dataclass(frozen=True)
class Cases:
    """What a pack asks."""

    pack: Pack

    @property
    def instances(self) -> int:
        """How many instances there are."""
        if self.pack.sample is None:
            return self.pack.instances
        from biasgrid.families.counterfactual.sampled import chosen_cases

        chosen = chosen_cases(self.pack, self.pack.sample)
        blocks = self.pack.blocks
        return sum(
            int(chosen[block.first_case : block.first_case + block.cases].sum()) * block.terms for block in blocks
        )

    def sample(self, count: int) -> list[tuple[str, str, Sequence[str]]]:
        """Returns second and first input and targets of `count` instances of cases, spread evenly over the pack."""
        from biasgrid.families.counterfactual.expand import candidates_of, expand_cases

        steps = min(SAMPLED_CASES, self.pack.cases)
        rows = []
        for step in range(steps):
            case = self.pack.cases * step // steps
            instances = expand_cases(self.pack, case, case + 1)
            columns = instances.select("text_pair", "text", *candidates_of(self.pack))
            rows += columns.gather_every(max(1, len(instances) * steps // count)).rows()
        # Every tokenizer writes its mask otherwise; any word stands for that one token.
        return [
            (context or "", text.replace(MASK, "it"), [word for word in words if word is not None])
            for context, text, *words in rows
        ]

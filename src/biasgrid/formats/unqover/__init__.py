"""The files of UnQover (Li et al., Findings of EMNLP 2020; github.com/allenai/unqover), read and
written.

`source.json` holds the examples that a model is asked, `output.json` the same examples with a
model's answers, and `log.txt` what UnQover's analysis prints of an `output.json`. An example is one
pair of subjects in one order with its plain and its negated question: two instances of ours.
"""

from typing import Literal

GroupBy = Literal["subj", "subj_act", "gender_act"]
"""The keys of the associations in a log: subject; subject and attribute; or gender (the group of
the subject, female or else male) and attribute.
"""

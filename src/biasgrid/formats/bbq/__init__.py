"""Files of answers that were published beside the items of BBQ and its relatives.

`commands` imports answers of models that write, `logits` those of encoders. The items themselves
are read by the family.
"""

"""Files of BBQ and its relatives: `items_of(path, faults)` of `bbq`, `esbbq` and `kobbq` yields the
items of a file.

`metadata` reads the authors' table of targets, `commands` answers that were published beside items,
and `logits` those of encoders.
"""

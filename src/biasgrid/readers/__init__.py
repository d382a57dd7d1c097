"""Readers of written answers: the option, Yes or No, or gender to which a text commits, and whether
it declines.

Every family reads answers by these rules, whether a model wrote them here, behind a server or
elsewhere. The words that they look for are data of a language, see `base.languages`. Only the
replication of a published number reads otherwise.
"""

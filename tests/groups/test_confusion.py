import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from biasgrid.groups.confusion import (
    AVERAGES,
    Average,
    Rate,
    confusion_columns,
    f1,
    pool_rates,
    precision,
    recall,
)
from biasgrid.groups.records import Pools


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize(
    ("rate", "plain"),
    [(f1, f1_score), (precision, precision_score), (recall, recall_score)],
    ids=["f1", "p", "r"],
)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_every_pool_has_scikit_learns_number(
    rate: Rate, plain: Callable[..., float], average: Average, data: st.DataObject
) -> None:
    label = st.integers(0, 1 if average == "binary" else 3)
    triples = data.draw(
        st.lists(st.tuples(label, label, st.integers(0, 4)), min_size=1, max_size=12)
    )
    gold, predicted, pool = np.array(triples, dtype=np.int64).T
    columns = confusion_columns(gold=gold, predictions=predicted)
    found = pool_rates(rate, columns, average, Pools(pool, 6))
    for number, value in enumerate(found):
        here = pool == number
        if not here.any():
            assert np.isnan(value)
            continue
        with warnings.catch_warnings(action="ignore"):
            expected = plain(gold[here], predicted[here], average=average, zero_division=0)
        assert value == pytest.approx(expected, abs=1e-12)

"""Records values of scipy for tests/statistics.rs: `python3 scipy_values.py > scipy_values.json`.

scipy 1.17.1 wrote the recorded values.
"""

import json
import random

import numpy as np
from scipy import stats

random.seed(20240614)
cases = []


def case(a, b):
    a, b = [float(x) for x in a], [float(x) for x in b]
    ties = len(set(a + b)) < len(a + b)
    large = max(len(a), len(b)) > 20
    if large:
        # The normal approximation, with corrections for ties and continuity.
        method = "asymptotic"
    elif ties:
        # All assignments of the values to the sides.
        method = stats.PermutationMethod(n_resamples=np.inf)
    else:
        method = "exact"

    def test(side):
        return stats.mannwhitneyu(b, a, alternative=side, method=method).pvalue

    def welch(side):
        return stats.ttest_ind(np.log(b), np.log(a), equal_var=False, alternative=side)

    interval = welch("two-sided").confidence_interval(0.95)
    cases.append({
        "a": a,
        "b": b,
        "u": float(stats.mannwhitneyu(b, a).statistic),
        "larger": float(test("greater")),
        "smaller": float(test("less")),
        "welch_larger": float(welch("greater").pvalue),
        "welch_df": float(welch("greater").df),
        "welch_interval": [float(np.exp(interval.low)), float(np.exp(interval.high))],
    })


def draws(n, centre, digits):
    return [round(random.lognormvariate(0, 0.2) * centre, digits) for _ in range(n)]


sizes = [(2, 2), (2, 4), (3, 3), (4, 3), (5, 5), (5, 7), (8, 6), (10, 10), (20, 20), (15, 20), (21, 21), (30, 12), (40, 60)]
for n, m in sizes:
    for shift in [1.0, 1.1]:
        case(draws(n, 100, 6), draws(m, 100 * shift, 6))
for n, m in [(5, 5), (5, 6), (7, 5), (8, 8), (25, 25)]:
    case(draws(n, 4, 0), draws(m, 5, 0))

points = [-3.0, -1.0, 0.0, 0.3, 1.0, 1.959964, 2.4999, 2.5001, 3.0, 4.5, 6.0, 8.0]
normal = [[z, float(stats.norm.sf(z))] for z in points]
student = [
    [t, df, float(stats.t.sf(t, df))]
    for t in [-2.0, 0.0, 0.5, 1.0, 2.0, 2.776445, 4.0, 12.706, 40.0]
    for df in [1.0, 1.7, 2.0, 3.0, 4.5, 8.0, 30.0, 200.0]
]


def holm(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    out, largest = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, p[i] * (len(p) - rank)))
        out[i] = largest
    return out


raw = [[0.01, 0.04, 0.03, 0.005], [0.5, 0.2], [0.02, 0.02, 0.02], [0.9, 0.001, 0.4, 0.0008, 0.049]]
print(json.dumps({
    "cases": cases,
    "normal": normal,
    "student": student,
    "holm": [[p, holm(p)] for p in raw],
}))

"""The functions of a shield's header that are the same for all shields: text in which names and sizes stand for others.

They are those of :mod:`moet.shield.kernel`, operation by operation.
"""

from __future__ import annotations

CONDITIONS = """
            || !NAME_all_below(z, NAME_errors[k], NAME_safe_rows, NAME_safe_spreads, NAME_safe_limits, @CONDITIONS@)"""

ALL_BELOW = """
static inline int NAME_all_below(
    const double z[], double error, const double rows[][@STATES@], const double spreads[], const double limits[],
    int count)
{
    for (int i = 0; i < count; i++) {
        if (!NAME_below(z, error, rows[i], spreads[i], limits[i])) {
            return 0;
        }
    }
    return 1;
}
"""

FUNCTIONS = """\
static inline int NAME_within(const double z[], double error)
{
    EXACT
    for (int i = 0; i < @STATES@; i++) {
        const double reach = NAME_times(error, NAME_shape[i]);
        if (!(z[i] - NAME_bottom[i] >= reach && NAME_top[i] - z[i] >= reach)) {
            return 0;
        }
    }
    return 1;
}

static inline int NAME_below(const double z[], double error, const double row[], double spread, double limit)
{
    EXACT
    double value = NAME_times(row[0], z[0]);OTHER_PRODUCTS
    return value + NAME_times(error, spread) <= limit;
}
ALL_BELOW
/* failed is the row beyond all polytopes a step before: mostly it is so again */
static inline int NAME_in_set(const double z[], double error, int *failed)
{
    if (!NAME_below(z, error, NAME_rows[*failed], NAME_spreads[*failed], NAME_most[*failed])) {
        return 0;
    }
    for (int cell = 0; cell < @CELLS@; cell++) {
        int i = 0;
        while (i < @ROWS@ && NAME_below(z, error, NAME_rows[i], NAME_spreads[i], NAME_limits[cell][i])) {
            i++;
        }
        if (i == @ROWS@) {
            return 1;
        }
        if (!NAME_below(z, error, NAME_rows[i], NAME_spreads[i], NAME_most[i])) {
            *failed = i;
            return 0;
        }
    }
    return 0;
}

static inline int NAME_expert(const double z[], double logits[])
{
    EXACT
    int best = 0;
    for (int j = 0; j < @EXPERTS@; j++) {
        double logit = NAME_gate[j][0];
        for (int k = 0; k < @STATES@; k++) {
            logit += NAME_times(NAME_gate[j][k + 1], z[k]);
        }
        logits[j] = logit;
        if (logit > logits[best]) {
            best = j;
        }
    }
    return best;
}

/* action of the policy wherever the state is within the error, whatever is seen of it; -1 if that is not sure */
static inline int NAME_sure_action(const double z[], double error)
{
    EXACT
    double logits[@EXPERTS@];
    const int best = NAME_expert(z, logits);
    for (int j = 0; j < @EXPERTS@; j++) {
        const double margin = NAME_times(error, NAME_gate_spreads[best][j]) + NAME_gate_errors[best][j];
        if (j != best && !(logits[best] - logits[j] > margin)) {
            return -1;
        }
    }
    int node = NAME_roots[best];
    while (NAME_nodes[node][1] != node) {
        const double gap = z[NAME_nodes[node][0]] - NAME_threshold[node];
        const double reach = NAME_times(error, NAME_shape[NAME_nodes[node][0]]);
        if (gap > reach) {
            node = NAME_nodes[node][2];
        } else if (-gap > reach) {
            node = NAME_nodes[node][1];
        } else {
            return -1;
        }
    }
    return NAME_actions[node];
}

static inline int NAME_policy(const double x[@STATES@])
{
    double logits[@EXPERTS@];
    int node = NAME_roots[NAME_expert(x, logits)];
    while (NAME_nodes[node][1] != node) {
        node = NAME_nodes[node][x[NAME_nodes[node][0]] <= NAME_threshold[node] ? 1 : 2];
    }
    return NAME_actions[node];
}

static inline int NAME_steps_within(const double x[@STATES@], int action, int most)
{
    double z[@STATES@];
    int failed = 0;
    if (action < 0 || action >= @ACTIONS@ || !NAME_within(x, NAME_errors[0])) {
        return 0;
    }
    for (int i = 0; i < @STATES@; i++) {
        z[i] = x[i];
    }
    for (int k = 1; k < @ERRORS@ && k <= most; k++) {
        if (k > 1) {
            action = NAME_sure_action(z, NAME_errors[k - 1] + NAME_errors[0]);
            if (action < 0) {
                return 0;
            }
        }
        NAME_step(z, action);
        if (!NAME_within(z, NAME_errors[k])CONDITIONS_KEPT) {
            return 0;
        }
        if (NAME_in_set(z, NAME_errors[k], &failed)) {
            return k;
        }
    }
    return 0;
}

static inline int NAME_steps_ahead(const double x[@STATES@], int action)
{
    return NAME_steps_within(x, action, @ERRORS@ - 1);
}

static inline int NAME_act(const double x[@STATES@], int wantedLEFT_TOO)
{
    for (int i = 0; i < @STATES@; i++) {
        if (!(x[i] - x[i] == 0.0)) {
            return -1;
        }
    }
    if (wanted < 0 || wanted >= @ACTIONS@) {
        return -1;
    }
    /* what the policy itself would do is taken in either case */
    const int own = NAME_policy(x);
    return own == wanted || NAME_steps_within(x, wanted, MOST_STEPS) > 0 ? wanted : own;
}
"""

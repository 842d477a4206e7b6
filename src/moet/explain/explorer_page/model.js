// What a prediction means, as docs/architecture.md says it. The hard answer has the same bits as Python's: JavaScript
// adds and multiplies doubles one by one, so all that matters is the order of the sums and which maximum counts.

export const LEAF = -1;
const LEAST_LEAD = 1e-6; // of the logarithm of the answer's probability, where an offset would turn them

/** Position of the first maximum. */
function firstMaximum(values, start = 0, end = values.length) {
  let best = start;
  for (let i = start + 1; i < end; i += 1) if (values[i] > values[best]) best = i;
  return best - start;
}

export class Model {
  /** All trees in one set of arrays; children are positions in these. */
  constructor(part, nClasses) {
    this.name = part.name;
    this.digest = part.digest;
    this.isHard = part.prediction === "hard" || part.trees.length === 1; // one expert's vote is its answer
    this.sharpness = part.sharpness; // null: votes are probabilities; a list: one number per answer
    this.offset = part.offset; // null, or a number per answer
    this.nExperts = part.trees.length;
    this.nFeatures = part.gate.weights[0].length;
    this.nClasses = nClasses;
    this.bias = Float64Array.from(part.gate.bias);
    this.weights = Float64Array.from(part.gate.weights.flat());
    this.roots = [];
    const nNodes = part.trees.reduce((sum, tree) => sum + tree.feature.length, 0);
    this.feature = new Int32Array(nNodes);
    this.threshold = new Float64Array(nNodes);
    this.left = new Int32Array(nNodes);
    this.right = new Int32Array(nNodes);
    this.value = new Float64Array(nNodes * nClasses);
    this.nodeClass = new Int32Array(nNodes);
    let root = 0;
    for (const tree of part.trees) {
      this.roots.push(root);
      for (let i = 0; i < tree.feature.length; i += 1) {
        this.feature[root + i] = tree.feature[i];
        this.threshold[root + i] = tree.threshold[i];
        this.left[root + i] = root + tree.left[i];
        this.right[root + i] = root + tree.right[i];
        for (let c = 0; c < nClasses; c += 1) this.value[(root + i) * nClasses + c] = tree.value[i][c];
        const start = (root + i) * nClasses;
        this.nodeClass[root + i] = firstMaximum(this.value, start, start + nClasses);
      }
      root += tree.feature.length;
    }
    this.uses = this.usedFeatures();
    this.logits = new Float64Array(this.nExperts); // of the last question
    this.shares = new Float64Array(this.nExperts); // softmax of them
    this.votes = new Float64Array(nClasses); // of the last soft question
    this.expert = 0; // the most probable one at the last question
  }

  /** Work out the logits and the most probable expert. */
  ask(x) {
    const { weights, bias, logits, nFeatures } = this;
    for (let j = 0, w = 0; j < this.nExperts; j += 1) {
      let sum = bias[j];
      for (let k = 0; k < nFeatures; k += 1, w += 1) sum += weights[w] * x[k];
      logits[j] = sum;
    }
    this.expert = firstMaximum(logits);
    return this.expert;
  }

  leaf(expert, x) {
    const { feature, threshold, left, right } = this;
    let node = this.roots[expert];
    while (feature[node] !== LEAF) node = x[feature[node]] <= threshold[node] ? left[node] : right[node];
    return node;
  }

  /** Nodes from the root to the leaf. */
  path(expert, x) {
    const nodes = [this.roots[expert]];
    for (let node = nodes[0]; this.feature[node] !== LEAF; nodes.push(node)) {
      node = x[this.feature[node]] <= this.threshold[node] ? this.left[node] : this.right[node];
    }
    return nodes;
  }

  hard(x) {
    return this.nodeClass[this.leaf(this.ask(x), x)];
  }

  /** Softmax of the logits of the last question. */
  share() {
    const top = this.logits[this.expert];
    let total = 0;
    for (let j = 0; j < this.nExperts; j += 1) total += this.shares[j] = Math.exp(this.logits[j] - top);
    for (let j = 0; j < this.nExperts; j += 1) this.shares[j] /= total;
    return this.shares;
  }

  /** The class of the largest vote, or -1 where the gate overflows. The last digits of exp are the browser's. */
  soft(x) {
    const { votes, nClasses, value } = this;
    const top = this.logits[this.ask(x)];
    let total = 0;
    votes.fill(0);
    for (let j = 0; j < this.nExperts; j += 1) {
      const weight = Math.exp(this.logits[j] - top);
      total += weight;
      const start = this.leaf(j, x) * nClasses;
      for (let c = 0; c < nClasses; c += 1) votes[c] += weight * value[start + c];
    }
    for (let c = 0; c < nClasses; c += 1) votes[c] /= total;
    return Number.isFinite(votes[0]) ? firstMaximum(votes) : -1;
  }

  /** Probabilities that the votes stand for. */
  sharpened(votes) {
    if (this.sharpness === null) return Float64Array.from(votes);
    const answer = firstMaximum(votes);
    const factor = Array.isArray(this.sharpness) ? this.sharpness[answer] : this.sharpness;
    const powers = Float64Array.from(votes, (vote, c) => {
      const behind = factor * (vote - votes[answer]);
      if (this.offset === null || c === answer) return Math.exp(behind);
      return Math.exp(Math.min(behind - this.offset[answer], -LEAST_LEAD));
    });
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  /** The answer in the model's own mode. */
  answer(x) {
    return this.isHard ? this.hard(x) : this.soft(x);
  }

  /** What tells answers apart along a line. */
  kind(x) {
    return this.answer(x);
  }

  /** Everything that is said about one input. */
  explain(x) {
    const answer = this.answer(x);
    const path = this.path(this.expert, x);
    const start = path[path.length - 1] * this.nClasses;
    return {
      answer,
      expert: this.expert,
      path,
      logits: Float64Array.from(this.logits),
      shares: Float64Array.from(this.share()),
      probabilities: this.sharpened(this.isHard ? this.value.slice(start, start + this.nClasses) : this.votes),
    };
  }

  /** Whether each feature is looked at; a weight that all experts share never decides between them. */
  usedFeatures() {
    const tested = new Set(this.feature);
    return Array.from({ length: this.nFeatures }, (_, k) => {
      const weights = this.weights.filter((_, i) => i % this.nFeatures === k);
      return tested.has(k) || weights.some((weight) => weight !== weights[0]);
    });
  }
}

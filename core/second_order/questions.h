// Questions about a batch of second-order chains; triples.h says what those are. Ties: among equal scores, the labelling
// that is smaller when read from the last label to the first.
#pragma once

#include "chain/batch.h"
#include "second_order/triples.h"

#include <vector>

namespace tagline {

// Forward–backward for every sentence: log_z, nodes, entropy (which may be null), counts and edges of `want`;
// triple_counts [R, stride] is overwritten, null where nobody asks.
Outcome pair_posterior(const Batch<double>& batch, const Triples& triples, const BatchAnswers<double>& want,
                       double* triple_counts, const Interrupted& interrupted);

// The best labelling of each sentence, labels [N], and its score [B].
Outcome pair_viterbi(const Batch<double>& batch, const Triples& triples, int64_t* labels, double* scores,
                     const Interrupted& interrupted);

Outcome pair_k_best(const Batch<double>& batch, const Triples& triples, int64_t k, std::vector<Ranked>& out,
                    const Interrupted& interrupted);

// uniforms [samples, N] in, labels [samples, N] out.
Outcome pair_sample(const Batch<double>& batch, const Triples& triples, const double* uniforms, int64_t samples,
                    int64_t* labels, const Interrupted& interrupted);

}  // namespace tagline

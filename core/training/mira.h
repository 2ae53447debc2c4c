// MIRA as CRF++ has it: one sentence at a time, its change limited over all passes by the cost C.
//
// With ŷ the best labelling, Δ = F(y, x) − F(ŷ, x), k wrong labels and d = w·F(ŷ) − w·F(y): w += μ Δ with
// μ = max(0, (k − d) / |Δ|²), as long as the sum of a sentence's μ stays within C. That sum is kept in float32.
#pragma once

#include "training/online.h"

namespace tagline {

struct MiraPass {
    int64_t wrong_labels = 0, wrong_sentences = 0, limited = 0;  // limited: sentences whose μ was cut off by C
    double violation = 0;                                       // the largest k − d of those that were not
};

class Mira : public Online<double> {
public:
    Mira(const Likelihood<double>& likelihood, float C) : Online<double>(likelihood, {}), C_(C) {}

    // Learn from the sentences of `order`. `spent` [B] is what each has used of C so far; `errors` [count] becomes the
    // number of wrong labels of each.
    Outcome learn(const int64_t* order, int64_t count, float* spent, int64_t* errors, MiraPass& pass,
                  const Interrupted& interrupted);

private:
    float C_;

    void mend(int64_t b, const std::vector<Change>& changes, double behind, int64_t errors, float* spent,
              MiraPass& pass);
};

}  // namespace tagline

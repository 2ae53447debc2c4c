#include "bindings/module.h"

#include "chain/variants.h"

NB_MODULE(_core, m) {
    if (tagline::supported_variants().empty())
        throw nanobind::import_error("this processor cannot run it: expected x86-64-v2, with SSE4.2 and POPCNT");
    nanobind::set_leak_warnings(false);  // tensors that live until the end may hold what is ours
    m.doc() = "The compiled core of Tagline: arrays in, arrays out. Use tagline.chain instead.";
    tagline::bindings::bind_answers(m);
    tagline::bindings::bind_baum_welch(m);
    tagline::bindings::bind_brown(m);
    tagline::bindings::bind_byte_expressions(m);
    tagline::bindings::bind_chain(m);
    tagline::bindings::bind_columns(m);
    tagline::bindings::bind_double_array(m);
    tagline::bindings::bind_features(m);
    tagline::bindings::bind_items(m);
    tagline::bindings::bind_mira(m);
    tagline::bindings::bind_online(m);
    tagline::bindings::bind_patterns(m);
    tagline::bindings::bind_runs(m);
    tagline::bindings::bind_runtime(m);
    tagline::bindings::bind_second_order(m);
    tagline::bindings::bind_segments(m);
    tagline::bindings::bind_sequences(m);
    tagline::bindings::bind_text(m);
    tagline::bindings::bind_trigram(m);
    tagline::bindings::bind_vectors(m);
    tagline::bindings::bind_weight_lines(m);
    tagline::bindings::bind_weights(m);
    tagline::bindings::bind_word_scores(m);
}

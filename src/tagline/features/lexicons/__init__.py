"""What is known of words beside a corpus: dictionaries and gazetteers, clusters, word vectors, and their making."""

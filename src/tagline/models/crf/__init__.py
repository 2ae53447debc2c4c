"""The feature CRF: sentences → attributes → weights → chains. In: sentences, a template or features, labels."""

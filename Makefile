# Everything that is run by hand. `make test` installs what it needs: Debian packages through apt-get (as root), all else below .cache/.

.PHONY: test test-fast ci bench clean

# Unit, contract, wire, documents, official conformance suite, power cut, crash matrix, real engines.
test:
	@tests/run all

# The inner loop: no engines, no conformance suite, no power cut, no large crash runs.
test-fast:
	@tests/run fast

# What must be green before anything is merged.
ci:
	@.ci/run

# The tables of docs/performance.md.
bench:
	cargo bench --bench gateway

clean:
	cargo clean
	rm -rf .cache

//! An input read as choices. Where it has ended every choice is the first one, so that a short input means something, too.

use arbitrary::Unstructured;

/// What is left of an input.
pub(crate) struct Choices<'i>(Unstructured<'i>);

impl<'i> Choices<'i> {
    pub(crate) fn new(input: &'i [u8]) -> Self {
        Self(Unstructured::new(input))
    }

    /// A number below `bound`; zero where there is nothing to choose from.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0.int_in_range(0..=bound.saturating_sub(1)).unwrap_or_default()
    }

    /// Yes, once in `times`; no at the end.
    pub(crate) fn rarely(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    pub(crate) fn of<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.below(list.len())]
    }

    /// One of the words.
    pub(crate) fn word<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    pub(crate) fn number(&mut self) -> i64 {
        self.0.arbitrary().unwrap_or_default()
    }

    /// At most `longest` bytes as they are.
    pub(crate) fn bytes(&mut self, longest: usize) -> &'i [u8] {
        let length = self.below(longest + 1).min(self.0.len());
        self.0.bytes(length).unwrap_or_default()
    }

    /// Characters from `alphabet`, at most `longest`.
    pub(crate) fn letters(&mut self, alphabet: &[u8], longest: usize) -> Vec<u8> {
        self.bytes(longest).iter().map(|byte| alphabet[usize::from(*byte) % alphabet.len()]).collect()
    }

    /// A range inside of `length` places.
    pub(crate) fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..(start + self.below(12)).min(length)
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'i [u8] {
        let length = self.0.len();
        self.0.bytes(length).unwrap_or_default()
    }
}

// Package lint checks rules of the repository that the compiler does not: which package may import
// which, what the core must not contain, the length of files, documentation comments, and refused
// words.
//
// The rules are tests; there is nothing to import. Each rule is a function from a source file to the
// problems in it, and is also tested with snippets that break it. A test that found nothing to check
// fails.
package lint

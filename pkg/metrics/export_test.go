package metrics

// ScrapeTimeout is scrapeTimeout for tests.
var ScrapeTimeout = scrapeTimeout

package metrics

// ScrapeTimeout is for tests.
var ScrapeTimeout = scrapeTimeout

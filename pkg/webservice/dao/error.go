package dao

// Error answers a request that failed.
type Error struct {
	StatusCode  int    `json:"status_code"`
	Message     string `json:"message"`
	Description string `json:"description"`
}

package canopy

// CloseHTTPListener closes the listener of HTTP behind the back of its server.
func CloseHTTPListener(s *Server) error { return s.listeners.http.Close() }

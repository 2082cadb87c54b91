// Runs before the page is drawn, so that it does not flash in the other theme.
try {
  const theme = localStorage.getItem('canopy-theme');
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
} catch { /* storage is switched off: the theme of the system applies */ }

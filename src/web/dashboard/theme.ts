import { signal } from '@preact/signals';

/** Light, dark, or as the system says. The cookie lets the server set `data-theme` before anything is drawn. */
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

function readTheme(): Theme {
  const found = /(?:^|; )gh_theme=(light|dark)(?:;|$)/.exec(document.cookie)?.[1];
  return found === 'light' || found === 'dark' ? found : 'system';
}

export const theme = signal<Theme>(readTheme());
document.documentElement.dataset['theme'] = theme.peek();

export function setTheme(value: Theme): void {
  theme.value = value;
  document.documentElement.dataset['theme'] = value;
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  document.cookie = `gh_theme=${value}; Path=/dashboard; SameSite=Strict; Max-Age=31536000${secure}`;
}

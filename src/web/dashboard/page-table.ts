import type { ComponentType } from 'preact';
import type { IconName } from './components/icon.tsx';
import { withStyle } from './page-style.ts';
import consoleStyle from './styles/console-pages.lazy.css';
import decisionStyle from './styles/decision-page.lazy.css';
import linksStyle from './styles/links-page.lazy.css';
import listsStyle from './styles/lists-page.lazy.css';
import overviewStyle from './styles/overview-page.lazy.css';
import reviewStyle from './styles/review-page.lazy.css';
import rulesStyle from './styles/rules-page.lazy.css';

/**
 * Every page of the dashboard. To add one: write `pages/<name>-page.tsx` with a default export, add its line here, its styles to
 * `styles/<name>-page.lazy.css` (named here, see `withStyle`), and a test to `test/browser/dashboard/`. See docs/adding.md, "A page".
 */
export interface PageSpec {
  readonly id: string;
  /** Pattern of preact-iso: `:name` is one segment of the path. */
  readonly path: string;
  /** The h1 and the title of the document. */
  readonly title: string;
  /** Only pages with an icon are in the rail. */
  readonly icon?: IconName;
  /** Second key after `g`. */
  readonly key?: string;
  /** In the bar at the bottom of a phone; the others are behind "More". */
  readonly isInBar?: boolean;
  /** False: its data do not depend on the range of time in the top bar. */
  readonly hasRange?: boolean;
  readonly load: () => Promise<{ readonly default: ComponentType }>;
}

export const PAGES: readonly PageSpec[] = [
  {
    id: 'overview',
    path: '/dashboard',
    title: 'Overview',
    icon: 'overview',
    key: 'o',
    isInBar: true,
    load: () => withStyle([overviewStyle], import('./pages/overview-page.tsx')),
  },
  {
    id: 'decisions',
    path: '/dashboard/decisions',
    title: 'Decisions',
    icon: 'decisions',
    key: 'd',
    isInBar: true,
    load: () => withStyle([decisionStyle], import('./pages/decisions-page.tsx')),
  },
  {
    id: 'decision',
    path: '/dashboard/decisions/:id',
    title: 'Decision',
    hasRange: false,
    load: () => withStyle([decisionStyle], import('./pages/decision-page.tsx')),
  },
  {
    id: 'links',
    path: '/dashboard/links/:kind?/:value?',
    title: 'Links',
    hasRange: false,
    load: () => withStyle([linksStyle], import('./pages/links-page.tsx')),
  },
  {
    id: 'review',
    path: '/dashboard/review',
    title: 'Review',
    icon: 'review',
    key: 'r',
    isInBar: true,
    hasRange: false,
    load: () => withStyle([decisionStyle, reviewStyle], import('./pages/review-page.tsx')),
  },
  {
    id: 'lists',
    path: '/dashboard/lists',
    title: 'Lists',
    icon: 'lists',
    key: 'l',
    isInBar: true,
    hasRange: false,
    load: () => withStyle([listsStyle], import('./pages/lists-page.tsx')),
  },
  {
    id: 'rules',
    path: '/dashboard/rules',
    title: 'Rules',
    icon: 'rules',
    key: 'p',
    hasRange: false,
    load: () => withStyle([consoleStyle, decisionStyle, rulesStyle], import('./pages/rules-page.tsx')),
  },
  {
    id: 'models',
    path: '/dashboard/models',
    title: 'Models',
    icon: 'models',
    key: 'm',
    hasRange: false,
    load: () => withStyle([consoleStyle], import('./pages/models-page.tsx')),
  },
  {
    id: 'crawlers',
    path: '/dashboard/crawlers',
    title: 'Who crawls',
    icon: 'crawlers',
    key: 'c',
    load: () => withStyle([decisionStyle], import('./pages/crawlers-page.tsx')),
  },
  {
    id: 'webhooks',
    path: '/dashboard/webhooks',
    title: 'Webhooks',
    icon: 'webhooks',
    key: 'w',
    hasRange: false,
    load: () => withStyle([consoleStyle], import('./pages/webhooks-page.tsx')),
  },
  {
    id: 'extractions',
    path: '/dashboard/extractions',
    title: 'Extractions',
    icon: 'extractions',
    key: 'x',
    hasRange: false,
    load: () => withStyle([consoleStyle], import('./pages/extractions-page.tsx')),
  },
  {
    id: 'watches',
    path: '/dashboard/watches',
    title: 'Watches',
    icon: 'watches',
    key: 'h',
    hasRange: false,
    load: () => withStyle([consoleStyle], import('./pages/watches-page.tsx')),
  },
  {
    id: 'try',
    path: '/dashboard/try',
    title: 'Try it',
    icon: 'try',
    key: 't',
    hasRange: false,
    load: () => withStyle([consoleStyle, decisionStyle], import('./pages/try-page.tsx')),
  },
  {
    id: 'keys',
    path: '/dashboard/keys',
    title: 'Keys & health',
    icon: 'keys',
    key: 'k',
    hasRange: false,
    load: () => withStyle([consoleStyle], import('./pages/keys-page.tsx')),
  },
  {
    id: 'audit',
    path: '/dashboard/audit',
    title: 'Audit log',
    icon: 'audit',
    key: 'a',
    hasRange: false,
    load: () => withStyle([consoleStyle], import('./pages/audit-page.tsx')),
  },
];

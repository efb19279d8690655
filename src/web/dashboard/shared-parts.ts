import { DECISION_COLUMNS } from './components/decision-columns.tsx';
import { Copy } from './components/copy.tsx';
import { DataTable } from './components/data-table.tsx';
import { Segments } from './components/filter-chips.tsx';
import { Section } from './components/pane.tsx';
import { EndOfRows, Stale, StateView, TooMuch } from './components/state-view.tsx';
import { Tiles } from './components/tile.tsx';
import { DECISION_WORDS, formatAgo, formatMs, formatPercent, shortId, asWords } from './format.ts';
import { linkPath } from './link-path.ts';
import { usePageTitle } from './page-title.ts';
import { useUrlState } from './url-state.ts';
import { useModule } from './use-module.ts';
import { usePages } from './use-pages.ts';

/** Parts that most pages use, the first one among them: the bundler puts them into one file (`SHARED_PARTS` of scripts/bundle-web.ts). */
Object.freeze([
  DECISION_COLUMNS,
  Copy,
  DataTable,
  Segments,
  Section,
  EndOfRows,
  Stale,
  StateView,
  TooMuch,
  Tiles,
  DECISION_WORDS,
  formatAgo,
  formatMs,
  formatPercent,
  shortId,
  asWords,
  linkPath,
  usePageTitle,
  useUrlState,
  useModule,
  usePages,
]);

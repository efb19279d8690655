import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import lazy, { ErrorBoundary } from 'preact-iso/lazy';
import { exec, LocationProvider, Route, Router, useLocation } from 'preact-iso/router';
import { type ApiFault, toFault } from './api.ts';
import { Toasts, undoNewest } from './components/toast.tsx';
import { Empty, FaultView, Skeleton } from './components/state-view.tsx';
import { isAnyDialogOpen, keysOn, useKeys } from './keyboard.ts';
import { PAGES, type PageSpec } from './page-table.ts';
import { withStyle } from './page-style.ts';
import { pageTitle } from './page-title.ts';
import { live } from './poller.ts';
import { Rail } from './rail.tsx';
import { session } from './session.ts';
import { loadSession, SignIn, consumeCode } from './sign-in.tsx';
import { endSession, TopBar } from './top-bar.tsx';
import { setTheme } from './theme.ts';
import { useLink } from './url-state.ts';
import paletteStyle from './styles/command-palette.lazy.css';
import { useModule } from './use-module.ts';
import { visibleText } from './visible-text.ts';

const COMPONENTS = PAGES.map(({ id, path, load }) => ({ id, path, component: lazy(load) }));

/** Returns the page of a path; undefined if there is none, or if the path is not valid percent-encoding, on which `exec` throws. */
function pageOf(path: string): PageSpec | undefined {
  if (!isDecodable(path)) return undefined;
  return PAGES.find((page) => exec(path, page.path, { params: {}, path, query: {} }) !== undefined);
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

export function App({ code: first }: { readonly code: string | null }): JSX.Element {
  const [code, setCode] = useState(first);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const load = (): void => {
    setFault(null);
    loadSession().catch((error: unknown) => setFault(toFault(error)));
  };
  // A sign-in code replaces the current session.
  useEffect(() => {
    if (code === null) load();
    else session.value = { kind: 'signed_out', why: null };
  }, [code]);
  // A link that is opened in a tab that shows the dashboard changes the hash only.
  useEffect(() => {
    const onHash = (): void => setCode((known) => consumeCode() ?? known);
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  const state = session.value;
  if (state.kind === 'signed_out') return <SignIn code={code} why={state.why} />;
  if (state.kind === 'unknown')
    return (
      <main class="starting">
        {fault === null ? <Skeleton form="text" /> : <FaultView fault={fault} retry={load} />}
      </main>
    );
  return (
    <LocationProvider scope="/dashboard">
      <Shell />
    </LocationProvider>
  );
}

const TOOLS: Readonly<Record<string, () => void>> = {
  'Theme: as the system': () => setTheme('system'),
  'Theme: light': () => setTheme('light'),
  'Theme: dark': () => setTheme('dark'),
  'Sign out': endSession,
};

function Shell(): JSX.Element {
  const { path, route } = useLocation();
  const link = useLink();
  const [isHelp, setHelp] = useState(false);
  const help = useModule(isHelp, () => import('./help-dialog.tsx'));
  const [isPalette, setPalette] = useState(false);
  const palette = useModule(isPalette, () => withStyle([paletteStyle], import('./command-palette.tsx')));
  const page = pageOf(path);
  const title = pageTitle.value ?? page?.title ?? 'Not found';
  useEffect(() => {
    document.title = `${visibleText(title)} · Gatehouse`;
  }, [title]);
  const bindings = useMemo(
    () => [
      { keys: '/', does: 'Search', run: () => focusOn('#search') },
      { keys: 't', does: 'Choose the range of time', run: () => focusOn('#range') },
      { keys: '.', does: 'Live on or off', run: () => void (live.value = !live.peek()) },
      { keys: '?', does: 'Show the keys', run: () => setHelp(true) },
      // Shown only: `onPaletteKey` listens to it, as it works while somebody types too.
      { keys: 'Ctrl+K', does: 'Commands', run: () => setPalette(true) },
      { keys: 'z', does: 'Undo', run: () => undoNewest() },
      ...PAGES.flatMap(({ key, title, path }) =>
        key === undefined ? [] : [{ keys: `g ${key}`, does: title, run: () => route(link(path)) }],
      ),
    ],
    [route, link],
  );
  useKeys('Everywhere', bindings, [route, path]);
  useEffect(() => {
    const onPaletteKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      if (!isAnyDialogOpen()) setPalette(true);
    };
    addEventListener('keydown', onPaletteKey);
    return () => removeEventListener('keydown', onPaletteKey);
  }, []);
  return (
    <div class="shell">
      <a class="skip-link" href="#main" onClick={(event) => skipToMain(event)}>
        Skip to the content
      </a>
      <Rail path={path} />
      <TopBar hasRange={page?.hasRange !== false} onHelp={() => setHelp(true)} />
      <main id="main" class="main" tabIndex={-1}>
        <h1 class="page-title">{visibleText(title)}</h1>
        <Boundary path={path}>
          {page === undefined ? (
            <NotFound />
          ) : (
            <Router onRouteChange={() => document.querySelector<HTMLElement>('#main')?.focus({ preventScroll: true })}>
              {COMPONENTS.map(({ id, path, component }) => (
                <Route key={id} path={path} component={component} />
              ))}
            </Router>
          )}
        </Boundary>
      </main>
      <Toasts />
      {isHelp && help !== null && <help.HelpDialog onClose={() => setHelp(false)} isOn={keysOn.value} />}
      {isPalette && palette !== null && (
        <palette.CommandPalette pages={PAGES} tools={TOOLS} onClose={() => setPalette(false)} />
      )}
    </div>
  );
}

/** Shows the error of a page in its place; the rest of the shell keeps working. */
function Boundary({ path, children }: { readonly path: string; readonly children: ComponentChildren }): JSX.Element {
  const [fault, setFault] = useState<ApiFault | null>(null);
  useEffect(() => setFault(null), [path]);
  if (fault !== null) return <FaultView fault={fault} retry={() => location.reload()} />;
  return <ErrorBoundary onError={(error) => setFault(toFault(error))}>{children}</ErrorBoundary>;
}

function NotFound(): JSX.Element {
  return (
    <Empty title="There is no such page">
      <a href="/dashboard">Go to the overview</a>
    </Empty>
  );
}

function skipToMain(event: Event): void {
  event.preventDefault();
  focusOn('#main');
}

function focusOn(selector: string): boolean {
  const element = document.querySelector<HTMLElement>(selector);
  element?.focus();
  return element !== null;
}

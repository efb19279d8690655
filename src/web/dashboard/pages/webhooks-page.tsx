import type { JSX } from 'preact';
import { Empty } from '../components/state-view.tsx';

export default function WebhooksPage(): JSX.Element {
  return (
    <Empty icon="clock" title="This page is not built yet">
      Everything that it will show can already be read over the HTTP interface.
    </Empty>
  );
}

import './styles/index.css';
import { render } from 'preact';
import { App } from './app.tsx';
import './shared-parts.ts';
import { consumeCode } from './sign-in.tsx';

// The one-time code of a link leaves the address bar before anything else happens.
const code = consumeCode();
const root = document.querySelector('#app');
if (root === null) throw new Error('index.html has no #app');
render(<App code={code} />, root);

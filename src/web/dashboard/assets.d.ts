/** Files that the bundler understands besides TypeScript. */
declare module '*.css';

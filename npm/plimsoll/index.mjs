// For `import`: the same one module that `require` gives, so that a process has each thing once.
import main from './dist/index.js';

export const { plimsoll, Plimsoll } = main;
export default main.plimsoll;

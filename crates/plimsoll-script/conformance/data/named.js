// Imported by a module that is imported.
export const name = 'inner';

// Required by another module.
exports.name = 'inner';

# A zoned null_blk device in memory: 8 conventional zones and 56 sequential ones of 2 MiB, 14 open and active
# gives: nullzoned
# modules: null_blk configfs

up() { zoned_null_blk nullzoned 128 2 8; }

down() { remove_null_blk nullzoned; }
